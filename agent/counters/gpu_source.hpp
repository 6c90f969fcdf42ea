#pragma once
// What NVML tells of the node's GPUs. It may take long, or hang: for a thread of its own.

#include <string>
#include <vector>

#include "agent/counters/nvml.hpp"
#include "agent/counters/recorder.hpp"

namespace traceagent::counters {

class GpuSource final : public Source {
 public:
  // `ranks`: how many the node has.
  GpuSource(LookUp look_up, std::int64_t ranks) noexcept : look_up_(look_up), ranks_(ranks) {}

  void prepare(Recorder&) noexcept override {}
  // Until the job has initialised the driver, nothing.
  void open(Recorder& recorder) noexcept override;
  // What open() does with an NVML that is initialised.
  void take(const nvml::Functions& functions, Recorder& recorder);
  void sample(Recorder& recorder) noexcept override;

 private:
  struct Gpu {
    std::uint32_t index;
    nvml::Device device;
    std::uint32_t left_out = 0;  // one bit for each reader that is not supported
    bool is_lost = false;
  };
  enum class State : std::uint8_t { unopened, open, refused };

  void describe(const Gpu& gpu, Recorder& recorder) const;
  void sample(Gpu& gpu, Recorder& recorder);
  void give_up(Gpu& gpu, std::size_t reader, nvml::Result result, Recorder& recorder) const;

  const LookUp look_up_;
  const std::int64_t ranks_;
  State state_ = State::unopened;
  nvml::Functions functions_;
  std::vector<Gpu> gpus_;
};

}  // namespace traceagent::counters
