#pragma once

#include <cstdint>
#include <string>

namespace traceagent::process {

struct Agent;

// upload.wait: as long as somebody is at work on the uploads. One who was killed over them has a
// successor; what is refused, or out of patience, waits for a person, and its uploader has ended.
class UploadWait {
 public:
  explicit UploadWait(const Agent& agent);
  bool goes_on();

 private:
  [[nodiscard]] std::int64_t problem_time_ns() const noexcept;

  const Agent& agent_;
  const std::string lock_, problem_;
  const std::uint64_t until_ns_;
  std::uint64_t last_at_work_ns_;
  bool has_successor_ = false;
  bool has_successor_worked_ = false;
  std::int64_t problem_before_ns_ = 0;
};

}  // namespace traceagent::process
