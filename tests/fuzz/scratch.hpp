#pragma once
// A folder in memory that a fuzzer's files go into; nothing may ever lie beside it.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace traceagent::fuzz {

[[noreturn]] inline void fail(std::string_view why) {
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(why.size()), why.data());
  std::abort();
}

// <top>/inside is what the code under test is told of.
class Scratch {
 public:
  Scratch() : top_(prefix + std::to_string(getpid())) {
    remove_those_of_the_dead();
    std::filesystem::create_directories(inside());
  }
  ~Scratch() { std::filesystem::remove_all(top_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string inside() const { return top_ + "/inside"; }
  [[nodiscard]] std::string path(const std::string& name) const { return inside() + "/" + name; }

  // All but `kept`.
  void clear(const std::string& kept = "") const {
    for (const auto& entry : std::filesystem::directory_iterator(inside())) {
      if (entry.path() != kept) std::filesystem::remove_all(entry.path());
    }
  }
  // Everything that was made lies inside.
  void check() const {
    for (const auto& entry : std::filesystem::directory_iterator(top_)) {
      if (entry.path() != inside()) fail("left its folder: " + entry.path().string());
    }
  }

 private:
  static constexpr const char* prefix = "/dev/shm/traceagent-fuzz-";

  // A fuzzer that finds something ends without any destructor: the next one cleans up for it.
  static void remove_those_of_the_dead() {
    const std::filesystem::path stem = prefix;
    for (const auto& entry : std::filesystem::directory_iterator(stem.parent_path())) {
      const std::string path = entry.path().string();
      if (!path.starts_with(prefix)) continue;
      const auto pid =
          static_cast<pid_t>(std::strtol(path.c_str() + std::strlen(prefix), nullptr, 10));
      std::error_code ignored;
      if (pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH))
        std::filesystem::remove_all(path, ignored);
    }
  }

  std::string top_;
};

inline void write_file(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    fail("cannot write " + path);
  }
  close(fd);
}

inline void expect_one_line(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      fail("a problem with control characters");
  }
}

}  // namespace traceagent::fuzz
