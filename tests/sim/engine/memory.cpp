#include "tests/sim/engine/memory.hpp"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "tests/sim/engine/script.hpp"

namespace simgpu::memory {
namespace {

struct Blocks {
  std::mutex mutex;
  std::map<const char*, Block> by_base;
  std::map<int, std::uint64_t> used;
};

Blocks& blocks() {
  static auto* instance = new Blocks;
  return *instance;
}

bool on_device(Kind kind) { return kind == Kind::device || kind == Kind::managed; }

void forget(Blocks& all, std::map<const char*, Block>::iterator at) {
  if (on_device(at->second.kind)) {
    all.used[at->second.device] -= at->second.bytes;
  }
  if (at->second.kind != Kind::registered) {
    munmap(at->second.base, at->second.bytes);
  }
  all.by_base.erase(at);
}

}  // namespace

void* allocate(std::size_t bytes, Kind kind, int device, unsigned flags, void* pool) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  if (on_device(kind) && bytes > script().device_memory_bytes - all.used[device]) {
    return nullptr;
  }
  // mmap: untouched memory costs nothing, so 80 GiB may be "allocated" on a small machine.
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return nullptr;
  }
  auto* start = static_cast<char*>(base);
  all.by_base[start] = {start, bytes, kind, device, flags, pool};
  if (on_device(kind)) {
    all.used[device] += bytes;
  }
  return base;
}

bool release(void* address, bool host) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  const auto at = all.by_base.find(static_cast<char*>(address));
  if (at == all.by_base.end()) {
    return false;
  }
  const Kind kind = at->second.kind;
  if (host ? kind != Kind::pinned : !on_device(kind)) {
    return false;
  }
  forget(all, at);
  return true;
}

bool add_registered(void* address, std::size_t bytes, unsigned flags) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  auto* start = static_cast<char*>(address);
  return all.by_base.try_emplace(start, Block{start, bytes, Kind::registered, 0, flags, nullptr})
      .second;
}

bool remove_registered(void* address) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  const auto at = all.by_base.find(static_cast<char*>(address));
  if (at == all.by_base.end() || at->second.kind != Kind::registered) {
    return false;
  }
  forget(all, at);
  return true;
}

std::optional<Block> find(const void* address) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  const auto* wanted = static_cast<const char*>(address);
  auto at = all.by_base.upper_bound(wanted);
  if (at == all.by_base.begin()) {
    return std::nullopt;
  }
  --at;
  const Block& block = at->second;
  return wanted < block.base + block.bytes ? std::optional(block) : std::nullopt;
}

bool covers(const void* address, std::size_t bytes) {
  const auto block = find(address);
  const auto* start = static_cast<const char*>(address);
  return block && bytes <= block->bytes - static_cast<std::size_t>(start - block->base);
}

std::uint64_t used_bytes(int device) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  return all.used[device];
}

void release_device(int device) {
  Blocks& all = blocks();
  std::lock_guard lock(all.mutex);
  for (auto at = all.by_base.begin(); at != all.by_base.end();) {
    const auto next = std::next(at);
    if (at->second.device == device && on_device(at->second.kind)) {
      forget(all, at);
    }
    at = next;
  }
}

}  // namespace simgpu::memory
