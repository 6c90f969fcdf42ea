#include "agent/door/resource_names.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "agent/door/interned_text.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {

using ring::Named;

constinit std::atomic<std::uint32_t> named_streams{0};

namespace {

// The same place here and in the ring.
struct Entry {
  Named kind;
  std::uint32_t length;
  std::uint32_t offset;  // of the name in this process's ring
  std::uint64_t handle, since_ticks, until_ticks;
  char text[107];

  bool is_named() const noexcept { return kind != Named::nothing && until_ticks == 0; }
  std::string_view name() const noexcept { return {text, length}; }
};
constinit std::array<Entry, ring::named_places> entries{};
// The process that is at it; 0: none.
constinit std::atomic<pid_t> holder{0};
// A job that makes up names for ever must not use up all of the ring's room for names.
constinit std::uint64_t bytes_in_ring = 0;
constexpr std::uint64_t share_of_names = 8;  // one in so many bytes

// Naming is rare and takes microseconds. A forked child may find it held by a thread that it does
// not have: it takes it over.
class Held {
 public:
  Held() noexcept {
    constexpr std::uint64_t patience_ns = 200'000'000;
    const pid_t pid = getpid();
    pid_t seen = 0;
    std::uint64_t since_ns = 0;
    while (!holder.compare_exchange_strong(seen, pid, std::memory_order_acquire)) {
      if (seen != pid) continue;
      const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
      if (since_ns == 0) since_ns = now_ns;
      if (now_ns - since_ns > patience_ns) return;
      seen = 0;
      sched_yield();
    }
    is_held_ = true;
  }
  ~Held() {
    if (is_held_) holder.store(0, std::memory_order_release);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  explicit operator bool() const noexcept { return is_held_; }

 private:
  bool is_held_ = false;
};

void count_lost_name() noexcept {
  if (ring::target.ring.valid()) ring::target.ring.count_drop(ring::DropCause::names_full);
}

Entry* find(Named kind, std::uint64_t handle) noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.is_named() && entry.kind == kind && entry.handle == handle;
  });
  return found != entries.end() ? &*found : nullptr;
}

// Which names itself once, and says nothing when it ends. No signal is sent; where the system does
// not tell, it lives.
bool has_ended(std::uint64_t thread) noexcept {
  const int saved_errno = errno;
  const bool is_gone =
      syscall(SYS_tgkill, getpid(), static_cast<pid_t>(thread), 0) != 0 && errno == ESRCH;
  errno = saved_errno;
  return is_gone;
}

Entry* oldest_ended_thread() noexcept {
  Entry* oldest = nullptr;
  for (Entry& entry : entries) {
    if (entry.kind != Named::thread || !entry.is_named()) continue;
    const bool is_older = oldest == nullptr || entry.since_ticks < oldest->since_ticks;
    if (is_older && has_ended(entry.handle)) oldest = &entry;
  }
  return oldest;
}

// An unused place, or that of the stream that went first, or of an ended thread.
Entry* make_room() noexcept {
  Entry* oldest = nullptr;
  for (Entry& entry : entries) {
    if (entry.kind == Named::nothing) return &entry;
    if (entry.is_named()) continue;
    if (oldest == nullptr || entry.until_ticks < oldest->until_ticks) oldest = &entry;
  }
  if (oldest != nullptr) return oldest;
  oldest = oldest_ended_thread();
  if (oldest != nullptr) oldest->until_ticks = event::read_ticks();
  return oldest;
}

std::uint32_t put_into_ring(std::string_view name) noexcept {
  if (const std::uint32_t known = find_interned(name); known != 0) return known;
  const ring::Ring& ring = ring::target.ring;
  bytes_in_ring += ring::room_of_name(name);
  if (bytes_in_ring <= ring.header().names_bytes / share_of_names) return intern(name);
  count_lost_name();
  return 0;
}

void write(const Entry& entry) noexcept {
  const ring::Ring& ring = ring::target.ring;
  if (!ring.valid()) return;
  const auto place = static_cast<std::size_t>(&entry - entries.data());
  ring.header().named_resources[place].store(
      {entry.kind, entry.offset, entry.handle, entry.since_ticks, entry.until_ticks});
}

// What ran on it keeps its name.
void close(Entry& entry) noexcept {
  entry.until_ticks = event::read_ticks();
  if (entry.kind == Named::stream) named_streams.fetch_sub(1, std::memory_order_relaxed);
  write(entry);
}

void set(Entry& entry, Named kind, std::uint64_t handle, std::string_view name) noexcept {
  const bool is_new = !entry.is_named();
  if (is_new) {
    entry.kind = kind;
    entry.handle = handle;
    entry.until_ticks = 0;
    // Before the start of the agent there is no clock yet, and nothing recorded.
    entry.since_ticks = ring::target.ring.valid() ? event::read_ticks() : 0;
    if (kind == Named::stream) named_streams.fetch_add(1, std::memory_order_relaxed);
  }
  entry.length = static_cast<std::uint32_t>(name.size());
  std::memcpy(entry.text, name.data(), name.size());
  entry.offset = ring::target.ring.valid() ? put_into_ring(name) : 0;
  write(entry);
}

}  // namespace

void name_resource(Named kind, std::uint64_t handle, std::string_view name) noexcept {
  name = name.substr(0, sizeof Entry::text);
  const Held held;
  if (!held) return count_lost_name();
  Entry* known = find(kind, handle);
  if (name.empty()) {
    if (known != nullptr) close(*known);
    return;
  }
  if (known != nullptr && known->name() == name) return;
  if (known == nullptr) known = make_room();
  if (known == nullptr) return count_lost_name();
  set(*known, kind, handle, name);
}

void forget_stream(const void* stream) noexcept {
  const Held held;
  if (!held) return count_lost_name();  // its name may show on a stream that is made in its place
  if (Entry* known = find(Named::stream, reinterpret_cast<std::uintptr_t>(stream))) close(*known);
}

void rewrite_resource_names() noexcept {
  const Held held;
  if (!held || !ring::target.ring.valid()) return;
  bytes_in_ring = 0;
  for (Entry& entry : entries) {
    // The old ring's ticks mean nothing to the new one.
    entry.since_ticks = 0;
    if (entry.is_named()) {
      entry.offset = put_into_ring(entry.name());
      write(entry);
    } else {
      entry.kind = Named::nothing;
    }
  }
}

}  // namespace traceagent::door
