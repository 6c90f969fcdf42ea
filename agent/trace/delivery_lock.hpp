#pragma once

#include <string>

namespace traceagent::trace {

// A lock on a trace file between the uploader, which delivers it and then says so in the journal,
// and a rank that leaves it out of a full queue. Whoever has it alone knows from the journal
// whether the file has arrived: so what is left out is counted exactly.
class DeliveryLock {
 public:
  enum class Kind { deliver, leave_out };
  DeliveryLock(const std::string& path, Kind kind) noexcept;
  ~DeliveryLock();
  DeliveryLock(const DeliveryLock&) = delete;
  DeliveryLock& operator=(const DeliveryLock&) = delete;

  // False: another process has it now, or nobody knows. True too where there are no locks, or no
  // such file: then a file on its way may be left out too.
  bool is_held() const noexcept { return is_held_; }
  // The errno for which nobody knows; 0: there is none.
  int problem() const noexcept { return problem_; }

 private:
  int fd_ = -1;
  int problem_ = 0;
  bool is_held_ = true;
};

}  // namespace traceagent::trace
