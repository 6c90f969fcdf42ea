#pragma once
// A ring made by hand: one tick is one nanosecond, tick 0 is the start of the year 2026 (UTC).

#include <cstdint>
#include <cstring>
#include <string>

#include "agent/api/function.hpp"
#include "agent/drain/window_events.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::drain {

inline constexpr std::int64_t epoch_ns = 1'767'225'600'000'000'000;

class CraftedRing {
 public:
  explicit CraftedRing(const std::string& folder = "/nowhere", std::uint64_t wanted_bytes = 2 << 20)
      : memory_(wanted_bytes) {
    ring::Header& header = ring().header();
    header.nominal_ns_per_tick = 1.0;
    header.agent_version = 1 << 8;
    header.owner_pid = 4242;
    header.ticks_from_tsc = 1;
    ring::add_anchor(ring().header(), {1000, static_cast<std::uint64_t>(epoch_ns) + 1000, 25});
    ring::IdentityBlock& identity = header.identity;
    identity.rank = identity.trace_pid = 3;
    identity.local_rank = 1;
    identity.world_size = 8;
    identity.local_world_size = 2;
    identity.node_rank = 1;
    identity.run_name = ring().add_name("a run");
    identity.host = ring().add_name("node7");
    identity.command_line = ring().add_name("./train --lr 0.1");
    identity.output_folder = ring().add_name(folder);
    identity.file_template = ring().add_name("ep{epoch}-ba{batch}-rank{rank}.json");
    identity.merged_name = ring().add_name("node{node_rank}.json");
    identity.options_json = ring().add_name("{}");
    identity.step_description = ring().add_name("NVTX ranges \"step\"");
  }

  const ring::Ring& ring() const noexcept { return memory_.ring(); }

  ring::Chunk& chunk_of(std::uint32_t thread, const char* name) {
    char padded[16] = {};
    std::strncpy(padded, name, 15);
    return *ring::claim_chunk(ring(), thread, padded, false);
  }

  // A record in the chunk's next slot. `end` 0: still running.
  event::Record& add(ring::Chunk& chunk, api::Function function, event::Layout layout,
                     std::uint64_t begin, std::uint64_t end) {
    std::size_t slot = 0;
    while (chunk.records[slot].begin_ticks.load() != 0) ++slot;
    event::Record& record = chunk.records[slot];
    record.function = static_cast<std::uint16_t>(function);
    record.layout = layout;
    ring::write_record(chunk, slot, begin, end);
    return record;
  }

  ring::Window& window(std::uint64_t begin, std::uint64_t end, std::uint64_t first_step,
                       std::uint64_t last_step) {
    ring::Window& window = ring().header().windows[windows_++];
    window.cycle = static_cast<std::uint32_t>(windows_ - 1);
    window.begin_ticks.store(begin);
    window.end_ticks.store(end);
    window.first_step.store(first_step);
    window.last_step.store(last_step);
    window.state.store(end != 0 ? ring::WindowState::closed : ring::WindowState::open);
    return window;
  }

  void step(std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
    ring::StepEdge& edge = ring().header().steps[number % ring::step_slots];
    edge.step.store(number);
    edge.begin_ticks.store(begin);
    edge.end_ticks.store(end);
  }

  std::uint32_t communicator(std::uint64_t hash, int rank, int size) {
    const std::uint32_t index = ring().header().communicator_count.fetch_add(1);
    ring::Communicator& entry = ring().header().communicators[index];
    entry.rank = rank;
    entry.size = size;
    entry.hash.store(hash);
    return index + 1;
  }

 private:
  ring::MemoryRing memory_;
  std::size_t windows_ = 0;
};

}  // namespace traceagent::drain
