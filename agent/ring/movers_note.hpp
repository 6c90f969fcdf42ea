#pragma once

#include <string>

namespace traceagent::ring {

// The lock of a run's folder for who moves it or takes it away. Another that found its run dead too
// would otherwise move, or empty, the new one in its place. Who is killed has it no longer. One
// thread of a process at a time: the lock is the process's.
class MoversNote {
 public:
  explicit MoversNote(const std::string& folder);
  ~MoversNote();
  MoversNote(const MoversNote&) = delete;
  MoversNote& operator=(const MoversNote&) = delete;

  // False too where another has moved it, with its folder, between our opening and our lock.
  bool is_ours() const noexcept;
  bool write_text(const std::string& text) const noexcept;
  void remove() const noexcept;

  static constexpr const char* name = "aside";

 private:
  std::string path_;
  int fd_;
  bool has_lock_ = false;
};

}  // namespace traceagent::ring
