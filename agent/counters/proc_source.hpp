#pragma once
// What the kernel tells of this process and of its node.

#include <array>
#include <cstdint>
#include <string>

#include "agent/counters/device_totals.hpp"
#include "agent/counters/proc_file.hpp"
#include "agent/counters/recorder.hpp"

namespace traceagent::counters {

class ProcSource final : public Source {
 public:
  struct Wanted {
    bool process = false;
    bool node = false;
  };
  // `root` goes before all paths.
  explicit ProcSource(const Wanted& wanted, std::string root = "") noexcept
      : wanted_(wanted), root_(std::move(root)) {}

  void prepare(Recorder& recorder) noexcept override;
  void sample(Recorder& recorder) noexcept override;

  // Opens the files; a test does it in its own thread, whose descriptors stay.
  void open_files(Recorder& recorder);

 private:
  void open(ProcFile& file, const char* path, const char* counter, Recorder& recorder);
  void open_group(Recorder& recorder);
  // 0, or the error's number.
  int open_group_in(const std::string& folder, bool is_v2, Recorder& recorder);
  std::string limited_group(const std::string& base, std::string_view path, bool is_v2);
  void sample_process(Recorder& recorder);
  void sample_usage(Recorder& recorder);
  void sample_storage(Recorder& recorder);
  void sample_node(Recorder& recorder);
  void sample_cpu(Recorder& recorder);
  void sample_memory(Recorder& recorder);
  void sample_group(Recorder& recorder);
  void sample_devices(Counter counter, Recorder& recorder);
  // "" where it cannot be read, which is told of, or is not open, which has been.
  std::string_view read(const ProcFile& file, const char* counter, Recorder& recorder);

  const Wanted wanted_;
  const std::string root_;
  ProcFile statm_, stat_, io_;                                           // of the process
  ProcFile cpus_, memory_, disks_, network_, group_used_, group_limit_;  // of the node
  DeviceTotals disk_totals_, network_totals_;
  std::array<char, 256 * 1024> buffer_;  // of lines of devices, of which a node can have many
};

}  // namespace traceagent::counters
