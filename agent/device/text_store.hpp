#pragma once
// Names and facts of device records, each kept once in the ring's names. Shared by the threads that
// CUPTI calls back on.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "agent/ring/ring.hpp"

namespace traceagent::device {

class TextStore {
 public:
  // All memory at once, about 1 MiB, touched as it fills.
  explicit TextStore(ring::Ring ring);

  // The same pointer mostly holds the same name: kernels come by the million, their names by the
  // hundred. Its bytes are compared all the same, since a module may be unloaded and its memory
  // used anew. nullptr: 0.
  std::uint32_t name(const char* text) noexcept;
  std::uint32_t text(std::string_view text) noexcept;

  // For texts that need work to be made: `key` is a hash of all that goes into it (never 0),
  // make(buffer) writes at most facts_bytes and returns the size. A quarter of the ring's names at
  // most, so that names never run out because every launch has a grid of its own; then 0, counted
  // as names_full.
  static constexpr std::size_t facts_bytes = 512;
  template <class Make>
  std::uint32_t facts(std::uint64_t key, Make&& make) noexcept {
    const Locked locked(busy_);
    if (const Entry* known = find(key)) return known->offset;
    char buffer[facts_bytes];
    return add_facts(key, {buffer, make(buffer)});
  }

 private:
  struct Pointer {
    const char* text;
    std::uint32_t offset;
  };
  struct Entry {
    std::uint64_t key;  // 0: unused
    std::uint32_t offset;
  };
  // Held for some tens of nanoseconds and never across a call out of here. A spin with yield: the
  // callback may run in a thread of the job, where a sleeping lock's wake-ups are not ours to make.
  class Locked {
   public:
    explicit Locked(std::atomic<bool>& busy) noexcept;
    ~Locked() { busy_.store(false, std::memory_order_release); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  const Entry* find(std::uint64_t key) const noexcept;
  void insert(std::uint64_t key, std::uint32_t offset) noexcept;
  std::uint32_t add_facts(std::uint64_t key, std::string_view text) noexcept;
  std::uint32_t text_unlocked(std::string_view text) noexcept;
  bool holds(std::uint32_t offset, const char* text) const noexcept;

  static constexpr std::size_t pointer_slots = 4096;
  static constexpr std::size_t entry_slots = 65536;
  static constexpr std::size_t longest_probe = 32;

  ring::Ring ring_;
  std::unique_ptr<Pointer[]> pointers_;
  std::unique_ptr<Entry[]> entries_;
  std::uint64_t facts_used_ = 0;
  std::atomic<bool> busy_{false};
};

}  // namespace traceagent::device
