#pragma once
// Puts samples into the ring, by the thread that takes them.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/counters/record.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::counters {

// A thread that records holds a chunk: of a ring with fewer, that would be taken from the job's.
inline constexpr std::uint64_t fewest_chunks = 16;
// The most that a window's samples take of the ring, for each thread that samples: a window that
// stays open for hours must keep room for the job's calls.
inline constexpr std::uint64_t most_share_of_ring = 16;

class Recorder {
 public:
  explicit Recorder(ring::Ring ring) noexcept : ring_(ring) {}

  // With the moment at which the values were read. Nothing where none is valid.
  void put(const Sample& sample, std::uint64_t ticks) noexcept;
  // Totals are not to be believed at that moment: no rate goes from before it to behind it.
  void put_gap(Counter counter, std::uint64_t ticks) noexcept;
  // Once for each text; it is in every window from then on.
  void not_covered(const std::string& text) noexcept;
  void gpu(std::uint32_t index, const std::string& json) noexcept;
  void begin_window() noexcept;
  // Samples for which there was no room, since the beginning.
  std::uint64_t missed() const noexcept { return missed_; }

 private:
  bool has_room() noexcept;
  void add(Note note, const std::string& text) noexcept;
  void write(const Note& note) noexcept;
  template <class Content>
  void publish(const Content& content, std::uint64_t ticks) noexcept;

  const ring::Ring ring_;
  std::uint64_t window_chunks_ = 0;  // taken since the window began
  std::uint64_t missed_ = 0;
  struct Kept {
    Note note;
    std::string text;
  };
  static constexpr std::size_t most_notes = 256;
  std::vector<Kept> notes_;
};

// What a thread asks, again and again.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  // In the thread that samples, before its first sample.
  virtual void prepare(Recorder& recorder) noexcept = 0;
  // Before each sample: what is dear once is no part of what a sample costs.
  virtual void open(Recorder&) noexcept {}
  virtual void sample(Recorder& recorder) noexcept = 0;
  // By another thread: nothing more is asked than what is being asked.
  void stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }

 protected:
  bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_stopped_{false};
};

}  // namespace traceagent::counters
