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
  const Agent& agent_;
  const std::string lock_;
  const std::uint64_t until_ns_;
  std::uint64_t last_at_work_ns_;
  bool has_successor_ = false;
};

}  // namespace traceagent::process
