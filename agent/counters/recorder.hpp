#pragma once
// Puts samples into the ring, by the thread that takes them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/counters/record.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::counters {

// A thread that records holds a chunk: of a ring with fewer, that would be taken from the job's.
inline constexpr std::uint64_t fewest_chunks = 16;

class Recorder {
 public:
  explicit Recorder(ring::Ring ring) noexcept : ring_(ring) {}

  // With the moment at which the values were read. Nothing where none is valid.
  void put(const Sample& sample, std::uint64_t ticks) noexcept;
  // Once for each text; it is in every window from then on.
  void not_covered(const std::string& text) noexcept;
  void gpu(std::uint32_t index, const std::string& json) noexcept;
  // A window has begun.
  void write_notes() noexcept;

 private:
  void add(Note note, const std::string& text) noexcept;
  void write(const Note& note) noexcept;
  template <class Content>
  void publish(const Content& content, std::uint64_t ticks) noexcept;

  const ring::Ring ring_;
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
  virtual void sample(Recorder& recorder) noexcept = 0;
};

}  // namespace traceagent::counters
