#pragma once
// A recorder whose ring a test reads.

#include <string>
#include <vector>

#include "agent/counters/recorder.hpp"
#include "agent/ring/writer.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::counters {

class Recorded {
 public:
  explicit Recorded(bool overwrites = false, std::uint64_t ring_bytes = 2 << 20)
      : memory_(ring_bytes) {
    ring::target.ring = memory_.ring();
    ring::target.overwrite = overwrites;
    ring::writer = {};  // as a thread that has recorded nothing
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }
  ~Recorded() {
    ring::target.ring = ring::Ring();
    ring::target.overwrite = false;
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  const ring::Ring& ring() const noexcept { return memory_.ring(); }

  std::vector<Sample> samples(Counter counter) const {
    std::vector<Sample> found;
    for (const event::Record* record : records(event::Layout::counter_sample)) {
      const Sample sample = sample_of(*record);
      if (sample.counter == counter) found.push_back(sample);
    }
    return found;
  }
  std::vector<std::string> not_covered() const {
    std::vector<std::string> found;
    for (const event::Record* record : records(event::Layout::counter_note)) {
      const Note note = note_of(*record);
      if (note.kind == NoteKind::not_covered) found.emplace_back(ring().name(note.text));
    }
    return found;
  }

 private:
  std::vector<const event::Record*> records(event::Layout layout) const {
    std::vector<const event::Record*> found;
    for (std::uint64_t i = 0; i < ring().chunk_count(); ++i) {
      for (const event::Record& record : ring().chunk(i).records) {
        if (record.begin_ticks.load() != 0 && record.layout == layout) found.push_back(&record);
      }
    }
    return found;
  }

  ring::MemoryRing memory_;

 public:
  Recorder recorder{memory_.ring()};
};

}  // namespace traceagent::counters
