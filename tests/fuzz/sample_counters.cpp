#include "tests/fuzz/sample_counters.hpp"

#include "agent/counters/record.hpp"

namespace traceagent::fuzz {
namespace {

using counters::Counter;
using counters::NoteKind;
using counters::Sample;

// Rates are of 8 ms at least; a window's end is sampled within a second after it.
constexpr std::uint64_t between_ticks = 10'000'000;

class Sampler {
 public:
  Sampler(drain::CraftedRing& made, ring::Chunk& chunk) : made_(made), chunk_(chunk) {}

  void sample(const Sample& sample, std::uint64_t at) {
    fill(record(event::Layout::counter_sample, at), sample);
  }
  void note(NoteKind kind, const char* text, std::uint64_t at) {
    fill(record(event::Layout::counter_note, at),
         counters::Note{kind, 0, made_.ring().add_name(text)});
  }

 private:
  event::Record& record(event::Layout layout, std::uint64_t at) {
    return made_.add(chunk_, api::Function::none, layout, at, at);
  }

  drain::CraftedRing& made_;
  ring::Chunk& chunk_;
};

// The totals grow; the whole grows by more than its shares.
Sample sample_of(Counter counter, std::uint64_t round) {
  Sample made{counter, 0, round == 2 ? 1u : 0u, {}};
  for (std::size_t series = 0; series < counters::most_series; ++series) {
    if (counters::row_of(counter).series[series].kind == counters::Kind::none) break;
    made.set(series, 1'000'000 * (round + 1) * (series + 1));
  }
  return made;
}

}  // namespace

void add_counters(drain::CraftedRing& made, ring::Chunk& chunk) {
  Sampler sampler(made, chunk);
  sampler.note(NoteKind::not_covered, "GPU counters: there is no libnvidia-ml.so.1", 1550);
  sampler.note(NoteKind::gpu, R"({"index": 0, "name": "Simulated", "uuid": "GPU-1"})", 3050);
  sampler.note(NoteKind::gpu, "no object", 3051);
  sampler.sample(sample_of(Counter::process_memory, 0), 1600);
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < counters::counter_count; ++i) {
      const auto counter = static_cast<Counter>(i);
      sampler.sample(sample_of(counter, round), 3100 + round * between_ticks + i);
    }
  }
  // Totals go backwards; a gap; a counter of a newer agent.
  sampler.sample(sample_of(Counter::node_network, 0), 3200 + 3 * between_ticks);
  sampler.sample(Sample{Counter::node_disks, 0, 0, {}}, 3200 + 3 * between_ticks);
  sampler.sample(sample_of(Counter::node_disks, 3), 3200 + 4 * between_ticks);
  Sample newer = sample_of(Counter::process_memory, 1);
  newer.counter = Counter::count;
  sampler.sample(newer, 3200);
}

}  // namespace traceagent::fuzz
