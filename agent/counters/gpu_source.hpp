#pragma once
// What NVML tells of the node's GPUs. It may take long, or hang: for a thread of its own.

#include <string>
#include <vector>

#include "agent/counters/nvml.hpp"
#include "agent/counters/recorder.hpp"

namespace traceagent::counters {

class GpuSource final : public Source {
 public:
  explicit GpuSource(LookUp look_up) noexcept : look_up_(look_up) {}

  void prepare(Recorder&) noexcept override {}
  // Until the job has initialised the driver, nothing.
  void sample(Recorder& recorder) noexcept override;

 private:
  struct Gpu {
    std::uint32_t index;
    nvml::Device device;
    std::uint32_t left_out = 0;  // one bit for each reader that is not supported
    bool is_lost = false;
  };
  enum class State : std::uint8_t { unopened, open, refused };

  void open(Recorder& recorder);
  void describe(const Gpu& gpu, Recorder& recorder) const;
  void sample(Gpu& gpu, Recorder& recorder);
  void give_up(Gpu& gpu, std::size_t reader, nvml::Result result, Recorder& recorder) const;

  const LookUp look_up_;
  State state_ = State::unopened;
  nvml::Functions functions_;
  std::vector<Gpu> gpus_;
};

}  // namespace traceagent::counters
