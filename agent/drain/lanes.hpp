#pragma once
// Keeps the slices of a lane nested: Perfetto silently drops an X event that overlaps another on
// the same (pid, tid) without lying inside it.

#include <cstdint>
#include <vector>

namespace traceagent::drain {

class NestingLanes {
 public:
  // The lane (0, 1, …) on which [begin_ns, end_ns) nests. Call in order of begin.
  std::size_t place(std::int64_t begin_ns, std::int64_t end_ns);
  std::size_t lane_count() const noexcept { return lanes_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> lanes_;  // per lane the ends of the open slices
};

// tid of a lane beyond a thread's own. Linux thread ids stay below 2^22.
inline std::int64_t spill_tid(std::int64_t tid, std::size_t lane) noexcept {
  return tid + static_cast<std::int64_t>(lane) * 10'000'000;
}
// No thread's: not 0 either, since rank 0 has the pid 0 and Perfetto takes tid == pid for the main
// thread, whatever its name.
inline constexpr std::int64_t steps_tid = 4'900'000;
inline constexpr std::int64_t process_ranges_tid = 5'000'000;

}  // namespace traceagent::drain
