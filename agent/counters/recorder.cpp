#include "agent/counters/recorder.hpp"

#include <algorithm>

#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::counters {

// Asked before claim(): what that cannot have of a full ring counts as calls of the job, which
// samples are not.
bool Recorder::has_room() noexcept {
  const ring::Writer& self = ring::writer;
  if (self.next != self.end) return true;
  // Of a ring that overwrites, the oldest is given up for the newest, samples among the others:
  // ours take a chunk a second where they are dearest (every 10 ms), so the job's calls are soon
  // older.
  if (ring::target.overwrite.load(std::memory_order_relaxed)) return true;
  const ring::Header& header = ring_.header();
  if (window_chunks_ >= std::max(header.chunk_count / most_share_of_ring, std::uint64_t{1}) ||
      header.free_chunks.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  ++window_chunks_;
  return true;
}

template <class Content>
void Recorder::publish(const Content& content, std::uint64_t ticks) noexcept {
  event::Record* record = has_room() ? ring::claim(ring::writer) : nullptr;
  if (record == nullptr) {
    ++missed_;
    return;
  }
  fill(*record, content);
  record->end_ticks.store(ticks, std::memory_order_relaxed);
  ring::publish(*record, ticks);
}

void Recorder::put(const Sample& sample, std::uint64_t ticks) noexcept {
  if (sample.valid != 0) publish(sample, ticks);
}

void Recorder::put_gap(Counter counter, std::uint64_t ticks) noexcept {
  publish(Sample{counter, 0, 0, {}}, ticks);
}

void Recorder::write(const Note& note) noexcept {
  if (note.text != 0) publish(note, event::read_ticks());
}

void Recorder::add(Note note, const std::string& text) noexcept try {
  const bool is_known = std::any_of(notes_.begin(), notes_.end(),
                                    [&](const Kept& each) { return each.text == text; });
  if (is_known || notes_.size() == most_notes) return;
  note.text = ring_.add_name(text);
  notes_.push_back({note, text});
  write(note);
} catch (...) {
  // No memory: it is not told.
}

void Recorder::not_covered(const std::string& text) noexcept {
  add({NoteKind::not_covered, 0, 0}, text);
}

void Recorder::gpu(std::uint32_t index, const std::string& json) noexcept {
  add({NoteKind::gpu, index, 0}, json);
}

void Recorder::begin_window() noexcept {
  window_chunks_ = 0;
  for (const Kept& each : notes_) write(each.note);
}

}  // namespace traceagent::counters
