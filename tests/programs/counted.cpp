// A window's work with a known cost, told by the program itself: burns a core, takes memory, writes
// a file, sends to each address, waits. Every cudaDeviceSynchronize begins a step; the work is
// steps 3 to 6.
//
//   counted BURN_MS MIB WRITE_BYTES WAIT_MS [SEND_BYTES IPV4 PORT [IPV4 PORT]...]
#include <arpa/inet.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr useconds_t start_us = 300'000;

long long cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000LL + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

long long written_bytes() {
  std::ifstream io("/proc/self/io");
  std::string word;
  while (io >> word) {
    long long bytes = 0;
    if (word == "write_bytes:" && io >> bytes) return bytes;
  }
  return -1;
}

void burn(long long ms) {
  const long long until_us = cpu_us() + ms * 1000;
  while (cpu_us() < until_us) {
  }
}

void write_file(long long bytes) {
  const int file = open("written", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::vector<char> block(1 << 16, 'x');
  for (long long done = 0; done < bytes; done += static_cast<long long>(block.size())) {
    if (write(file, block.data(), block.size()) < 0) break;
  }
  fsync(file);
  close(file);
}

// Returns when the other end has them all: it closes the connection then.
bool send_bytes(long long bytes, const char* address, const char* port) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, address, &to.sin_addr);
  bool ok = connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  const std::vector<char> block(1 << 16, 'x');
  for (long long done = 0; ok && done < bytes;) {
    const ssize_t sent = send(connection, block.data(), block.size(), MSG_NOSIGNAL);
    ok = sent > 0;
    done += sent;
  }
  shutdown(connection, SHUT_WR);
  char end = 0;
  ok = ok && recv(connection, &end, 1, 0) == 0;
  close(connection);
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index) { return argc > index ? std::atoll(argv[index]) : 0; };
  void* device_memory = nullptr;
  cudaMalloc(&device_memory, 64);
  // The agent starts its threads meanwhile: a window's first sample is of its begin.
  usleep(start_us);
  for (int step = 0; step <= 3; ++step) cudaDeviceSynchronize();
  const long long cpu_before = cpu_us(), written_before = written_bytes();
  burn(number(1));
  cudaDeviceSynchronize();
  std::vector<char> taken(static_cast<std::size_t>(number(2)) << 20, 'x');
  cudaDeviceSynchronize();
  write_file(number(3));
  cudaDeviceSynchronize();
  bool ok = true;
  for (int i = 6; i + 1 < argc; i += 2) ok = send_bytes(number(5), argv[i], argv[i + 1]) && ok;
  usleep(static_cast<useconds_t>(number(4) * 1000));
  const long long cpu_after = cpu_us(), written_after = written_bytes();
  cudaDeviceSynchronize();
  std::printf("cpu_us %lld written_bytes %lld taken_bytes %zu\n", cpu_after - cpu_before,
              written_after - written_before, taken.size());
  cudaDeviceSynchronize();
  cudaFree(device_memory);
  return ok ? 0 : 1;
}
