#pragma once
// A folder in memory that a fuzzer's files go into; nothing may ever lie beside it.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace traceagent::fuzz {

[[noreturn]] inline void fail(std::string_view why) {
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(why.size()), why.data());
  std::abort();
}

// <top>/inside is what the code under test is told of.
class Scratch {
 public:
  Scratch() {
    std::string made = "/dev/shm/traceagent-fuzz-XXXXXX";
    if (mkdtemp(made.data()) == nullptr) fail("no folder in /dev/shm");
    top_ = made;
    std::filesystem::create_directory(inside());
  }
  ~Scratch() { std::filesystem::remove_all(top_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string inside() const { return top_ + "/inside"; }
  [[nodiscard]] std::string path(const std::string& name) const { return inside() + "/" + name; }

  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(inside())) {
      std::filesystem::remove_all(entry.path());
    }
  }
  // Everything that was made lies inside.
  void check() const {
    for (const auto& entry : std::filesystem::directory_iterator(top_)) {
      if (entry.path() != inside()) fail("left its folder: " + entry.path().string());
    }
  }

 private:
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
