// What stands in for libFuzzer where there is no clang: runs every seed, then changes of them, the
// same ones on every machine. usage: fuzz_<name> SECONDS LAST_INPUT SEEDS...
// LAST_INPUT is a file that holds the bytes of the run at hand: those of the crash, after one.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t longest_input = 1 << 20;

// Written before each run: what is mapped from a file survives a crash.
class LastInput {
 public:
  explicit LastInput(const char* path) : fd_(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || ftruncate(fd_, longest_input) != 0) std::abort();
    bytes_ = static_cast<char*>(
        mmap(nullptr, longest_input, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    if (bytes_ == MAP_FAILED) std::abort();
  }
  void run(const std::string& input) {
    std::memcpy(bytes_, input.data(), input.size());
    size_ = input.size();
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes_), size_);
  }

 private:
  int fd_;
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<std::string> read_seeds(int count, char** paths) {
  std::vector<std::string> seeds;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(paths[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  std::sort(seeds.begin(), seeds.end());  // folders know no order
  return seeds;
}

class Changes {
 public:
  explicit Changes(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t i = 1 + below(6); i > 0; --i) change(input);
    return input.substr(0, longest_input);
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  char interesting() {
    static constexpr char bytes[] = {'\0', '\x7f', '\x80', '\xff', '{', '"', '\\', '/', '.', '\n'};
    return below(2) == 0 ? static_cast<char>(random_()) : bytes[below(std::size(bytes))];
  }
  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    switch (below(5)) {
      case 0:
        input.insert(at, 1 + below(8), interesting());
        return;
      case 1:
        input.erase(at, 1 + below(16));
        return;
      case 2: {
        const std::string& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1);
        input.replace(at, below(64), other.substr(from, below(128)));
        return;
      }
      default:
        if (at < input.size()) input[at] = interesting();
    }
  }

  const std::vector<std::string>& seeds_;
  std::minstd_rand random_{20260101};
};

// What libFuzzer is told by -rss_limit_mb: a hostile input must not make its reader take more.
bool took_too_much() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;  // a sanitizer keeps what was freed
#else
  constexpr long most_kib = 512 * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss <= most_kib) return false;
  std::fprintf(stderr, "took %ld MiB\n", usage.ru_maxrss / 1024);
  return true;
#endif
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s SECONDS LAST_INPUT SEEDS...\n", arguments[0]);
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[1]));
  const std::vector<std::string> seeds = read_seeds(count - 3, arguments + 3);
  if (seeds.empty()) return 2;
  LastInput last(arguments[2]);
  std::uint64_t runs = 0;
  for (const std::string& seed : seeds) {
    last.run(seed);
    ++runs;
  }
  Changes changes(seeds);
  for (; std::chrono::steady_clock::now() < end; ++runs) last.run(changes.next());
  std::printf("%llu runs of %zu seeds\n", static_cast<unsigned long long>(runs), seeds.size());
  return took_too_much() ? 1 : 0;
}
