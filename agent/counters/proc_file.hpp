#pragma once
// A file of /proc that is read again and again through one descriptor.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace traceagent::counters {

class ProcFile {
 public:
  ProcFile() = default;
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;
  ~ProcFile();

  // False: errno says why.
  bool open(const std::string& path) noexcept;
  bool is_open() const noexcept { return descriptor_ >= 0; }
  // What it says now: whole lines alone, as many as fit into `buffer`. Nothing: errno says why.
  std::optional<std::string_view> read(std::span<char> buffer) const noexcept;

 private:
  int descriptor_ = -1;
};

// Gives this thread a table of descriptors of its own, which is empty: what it opens has no number
// that a file of the job could have had, is never closed or inherited by the job, and counts
// against no limit of it. False where the kernel refuses (Linux before 5.9, a seccomp filter).
bool leave_descriptors_of_process() noexcept;

}  // namespace traceagent::counters
