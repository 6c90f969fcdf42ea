#pragma once
// What a door's test needs of a process: a ring to record into, the modes, a start that only
// counts.

#include <atomic>
#include <vector>

#include "agent/door/communicators.hpp"
#include "agent/door/interned_text.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/start.hpp"
#include "agent/ring/writer.hpp"
#include "agent/step/state.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::door {

extern std::atomic<int> starts;  // calls of start_process(), which does nothing else here

class Recording {
 public:
  explicit Recording(std::uint64_t ring_bytes = 1 << 20) : memory_(ring_bytes) {
    ring::target.ring = memory_.ring();
    ring::target.overwrite = false;
    ring::target.generation.fetch_add(1, std::memory_order_release);
    ring::prepare_thread_exit();
    forget_kernel_offsets();
    forget_interned();
    step::set_all_modes(step::Mode::record);
  }
  ~Recording() {
    step::set_all_modes(step::Mode::pass);
    report_to(nullptr);
    ring::target.ring = ring::Ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const ring::Ring& ring() const noexcept { return memory_.ring(); }
  std::uint64_t dropped(ring::DropCause cause) const noexcept { return memory_.dropped(cause); }

  std::vector<const event::Record*> records() const {
    std::vector<const event::Record*> records;
    for (std::uint64_t i = 0; i < ring().chunk_count(); ++i) {
      for (const event::Record& record : ring().chunk(i).records) {
        if (record.begin_ticks.load() != 0) records.push_back(&record);
      }
    }
    return records;
  }

 private:
  ring::MemoryRing memory_;
};

}  // namespace traceagent::door
