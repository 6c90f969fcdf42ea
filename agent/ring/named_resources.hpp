#pragma once
// What the job calls its streams, devices, contexts and threads, as it lies in the ring's header.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace traceagent::ring {

// Stored in the file: append only.
enum class Named : std::uint32_t { nothing, stream, device, context, thread };

struct ResourceName {
  Named kind = Named::nothing;
  std::uint32_t name = 0;         // offset in the ring's names
  std::uint64_t handle = 0;       // of a stream or context; the number of a device; a thread's id
  std::uint64_t since_ticks = 0;  // names what is launched from here on
  std::uint64_t until_ticks = 0;  // the stream was destroyed then; 0: it was not
};

// Zeroed memory is an empty place. One thread writes at a time; any reads, in this process or after
// its death.
class NamedPlace {
 public:
  void store(const ResourceName& content) noexcept {
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    // Odd while it is written. Each release below pairs with load()'s acquire of the same field:
    // who saw a field that is stored here sees this number too. No fence: ThreadSanitizer knows of
    // none.
    version_.store(version + 1, std::memory_order_relaxed);
    kind_.store(content.kind, std::memory_order_release);
    name_.store(content.name, std::memory_order_release);
    handle_.store(content.handle, std::memory_order_release);
    since_ticks_.store(content.since_ticks, std::memory_order_release);
    until_ticks_.store(content.until_ticks, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Nothing where it is empty or being written: a name less, never a wrong one.
  std::optional<ResourceName> load() const noexcept {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    if (version % 2 != 0) return std::nullopt;
    const ResourceName content{
        kind_.load(std::memory_order_acquire), name_.load(std::memory_order_acquire),
        handle_.load(std::memory_order_acquire), since_ticks_.load(std::memory_order_acquire),
        until_ticks_.load(std::memory_order_acquire)};
    if (version_.load(std::memory_order_relaxed) != version) return std::nullopt;
    if (content.kind == Named::nothing) return std::nullopt;
    return content;
  }

 private:
  std::atomic<std::uint32_t> version_;
  std::atomic<Named> kind_;
  std::atomic<std::uint32_t> name_;
  std::uint32_t reserved_;
  std::atomic<std::uint64_t> handle_, since_ticks_, until_ticks_;
};
static_assert(sizeof(NamedPlace) == 40);

inline constexpr std::size_t named_places = 512;
using NamedPlaces = std::array<NamedPlace, named_places>;

}  // namespace traceagent::ring
