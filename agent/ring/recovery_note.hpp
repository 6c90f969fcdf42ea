#pragma once

#include <cstdint>
#include <string>

namespace traceagent::ring {

// The lock of a run's folder for who recovers its rings. Two at once (a keeper and the user, two
// epilogues) would each see that a window is not written yet, and write it. Who is killed has it no
// longer. One thread of a process at a time: the lock is the process's.
class RecoveryNote {
 public:
  explicit RecoveryNote(const std::string& folder) : path_(folder + "/" + name) {}
  ~RecoveryNote();
  RecoveryNote(const RecoveryNote&) = delete;
  RecoveryNote& operator=(const RecoveryNote&) = delete;

  // False while another has it. True too where there can be no note (a folder that is gone, or may
  // not be written): nobody has it then.
  bool take() noexcept;
  // After that: its pid, or 0 where that cannot be seen.
  std::uint32_t holder() const noexcept { return holder_; }

  static constexpr const char* name = "recovering";

 private:
  bool is_there() const noexcept;
  void leave() noexcept;

  std::string path_;
  int fd_ = -1;
  bool has_lock_ = false;
  std::uint32_t holder_ = 0;
};

}  // namespace traceagent::ring
