#pragma once
// How many calls the job's threads record, counted in the ring by the drain: the doors count
// nothing for it.

#include <cstdint>
#include <vector>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

class PublishedCalls {
 public:
  explicit PublishedCalls(const ring::Ring& ring);

  // Calls recorded since the last look, of the thread that recorded most; with those that found
  // the ring full, and those that a flight recorder has overwritten since, whose thread is not
  // known. The latter count as full chunks, which they are but where a thread has ended: of many
  // short threads too much is left out rather than too little.
  std::uint64_t busiest_since_last() noexcept;

 private:
  struct Seen {
    std::uint64_t claim_number = 0;
    std::uint32_t records = 0;
    bool is_live = false;  // in the list below
  };
  struct OfThread {
    std::uint32_t thread_id;
    std::uint64_t calls;
  };

  std::uint64_t find_new(std::uint64_t claims) noexcept;
  bool may_have_more(std::uint64_t index) noexcept;
  void look_at_live() noexcept;
  void add(std::uint32_t thread_id, std::uint64_t calls) noexcept;

  const ring::Ring ring_;
  std::vector<Seen> seen_;
  // Chunks that are not known to be full. To look at all of a large ring's, fifty times a second,
  // took more of a core than writing the files.
  std::vector<std::uint64_t> live_;  // indices; as long as the ring has chunks, each is there once
  std::size_t live_count_ = 0;
  // Bounded: of very many threads none is busy.
  static constexpr std::size_t most_threads = 1024;
  std::vector<OfThread> threads_;
  std::uint64_t claims_before_ = 0;
  std::uint64_t last_found_ = 0;  // index of the chunk
  std::uint64_t full_before_ = 0;
};

}  // namespace traceagent::drain
