#include "tests/sim/cupti/timestamps.hpp"

#include <atomic>

#include "tests/sim/engine/clock.hpp"

namespace simgpu::cupti {
namespace {

std::atomic<CUpti_TimestampCallbackFunc> timestamp{nullptr};

}  // namespace

void set_timestamp_callback(CUpti_TimestampCallbackFunc callback) { timestamp.store(callback); }

std::uint64_t told_ns(std::int64_t time_ns) {
  const CUpti_TimestampCallbackFunc callback = timestamp.load();
  const auto ns = static_cast<std::uint64_t>(time_ns);
  if (callback == nullptr || time_ns == 0) {
    return ns;
  }
  return ns + callback() - static_cast<std::uint64_t>(now_ns());
}

}  // namespace simgpu::cupti
