#pragma once
// Samples as they lie in the ring: records of the same 64 bytes as calls, so that they are bounded,
// survive a kill and are recovered in the same way. begin_ticks and end_ticks are both the moment
// at which the values were read.

#include <array>
#include <cstdint>

#include "agent/counters/table.hpp"
#include "agent/event/record.hpp"

namespace traceagent::counters {

// Fields of Layout::counter_sample. Totals are stored as they were read: what they grew by is the
// reader's to say, who has two of them.
struct Sample {
  Counter counter;                                  // function
  std::uint8_t valid = 0;                           // flags: one bit for each series that was had
  std::uint32_t instance = 0;                       // detail: the GPU's index
  std::array<std::uint64_t, most_series> values{};  // args

  void set(std::size_t series, std::uint64_t value) noexcept {
    values[series] = value;
    valid = static_cast<std::uint8_t>(valid | 1u << series);
  }
};

inline Sample sample_of(const event::Record& record) noexcept {
  Sample sample{static_cast<Counter>(record.function), record.flags, record.detail, {}};
  for (std::size_t i = 0; i < most_series; ++i) sample.values[i] = record.args[i];
  return sample;
}

// All but the ticks, which publishing sets.
inline void fill(event::Record& record, const Sample& sample) noexcept {
  record.layout = event::Layout::counter_sample;
  record.function = static_cast<std::uint16_t>(sample.counter);
  record.flags = sample.valid;
  record.result = 0;
  record.detail = sample.instance;
  record.extra = 0;
  for (std::size_t i = 0; i < most_series; ++i) record.args[i] = sample.values[i];
}

// Record::flags of Layout::counter_note, whose text is extra: an offset in the ring's names. One of
// each is written at every window's beginning. Stored in the ring file: append only.
enum class NoteKind : std::uint8_t {
  not_covered,  // a counter that cannot be had, and why
  gpu,          // detail: the index; the text is a JSON object: "index", "name", "uuid", "pci"
};

struct Note {
  NoteKind kind;
  std::uint32_t instance = 0;  // detail
  std::uint32_t text = 0;      // extra
};

inline Note note_of(const event::Record& record) noexcept {
  return {static_cast<NoteKind>(record.flags), record.detail, record.extra};
}

inline void fill(event::Record& record, const Note& note) noexcept {
  record.layout = event::Layout::counter_note;
  record.function = 0;
  record.flags = static_cast<std::uint8_t>(note.kind);
  record.result = 0;
  record.detail = note.instance;
  record.extra = note.text;
  for (std::uint64_t& each : record.args) each = 0;
}

}  // namespace traceagent::counters
