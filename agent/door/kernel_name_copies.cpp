#include "agent/door/kernel_name_copies.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace traceagent::door {
namespace {

constexpr std::size_t most_copied_bytes = 16 << 20;
constexpr std::size_t longest_probe = 16;
constinit std::array<std::atomic<const char*>, 16384> copies{};
constinit std::atomic<std::size_t> copied_bytes{0};

std::atomic<const char*>& place_of(std::uint64_t hash, std::size_t probe) noexcept {
  return copies[(hash + probe) % copies.size()];
}

const char* make_copy(const char* name) noexcept {
  const std::size_t bytes = std::strlen(name) + 1;
  if (copied_bytes.load(std::memory_order_relaxed) + bytes > most_copied_bytes) return nullptr;
  const int saved_errno = errno;
  auto* copy = static_cast<char*>(std::malloc(bytes));
  errno = saved_errno;
  if (copy == nullptr) return nullptr;
  copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
  std::memcpy(copy, name, bytes);
  return copy;
}

}  // namespace

const char* copy_of_name(const char* name, std::uint64_t hash) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    std::atomic<const char*>& place = place_of(hash, probe);
    const char* known = place.load(std::memory_order_acquire);
    if (known == nullptr) {
      const char* copy = make_copy(name);
      // Lost to another thread: its text may be ours or not; ours is copied all the same.
      if (copy != nullptr) place.compare_exchange_strong(known, copy, std::memory_order_acq_rel);
      return copy;
    }
    if (std::strcmp(known, name) == 0) return known;
  }
  // No room beside it: one of the old ones goes, so that those that come again find theirs.
  const char* copy = make_copy(name);
  if (copy != nullptr) {
    place_of(hash, hash / copies.size() % longest_probe).store(copy, std::memory_order_release);
  }
  return copy;
}

}  // namespace traceagent::door
