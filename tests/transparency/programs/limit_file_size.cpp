// RLIMIT_FSIZE: 0 or 1 MiB; a write of its own beyond it still gets its signal.
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
volatile std::sig_atomic_t seen = 0;
}  // namespace

int main(int, char** argv) {
  std::signal(SIGXFSZ, [](int) { seen = seen + 1; });
  const rlim_t bytes = std::strtoul(argv[1], nullptr, 10);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  // Standard output may be a file too: what is to be said goes into the exit code.
  const int calls = call_often(500) + use_device();
  if (bytes > 0) say_state("end");
  const int before = static_cast<int>(seen);
  const int fd = open("own-file", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  lseek(fd, static_cast<off_t>(bytes), SEEK_SET);
  const bool refused = write(fd, "x", 1) < 0 && errno == EFBIG;
  return (calls == 500 ? 0 : 1) + (before == 0 ? 0 : 2) + (refused ? 0 : 4) + (seen == 1 ? 0 : 8);
}
