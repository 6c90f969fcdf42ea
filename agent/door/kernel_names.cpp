#include "agent/door/kernel_names.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "agent/event/hash.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

// PyTorch registers some 50,000 kernels while it is imported, in constructors, before anyone knows
// if a single one will run: an entry must cost a store, not a copy of its name.
struct Registration {
  std::atomic<const void*> function;
  const char* name;
  const void* module;
};
constexpr std::size_t block_entries = 4096;
constexpr std::size_t block_count = 256;
using Block = std::array<Registration, block_entries>;

constexpr std::size_t most_copied_bytes = 16 << 20;

constinit std::array<std::atomic<Block*>, block_count> blocks{};
constinit std::atomic<std::size_t> registered{0};

Block* block_at(std::size_t index) noexcept {
  Block* block = blocks[index].load(std::memory_order_acquire);
  if (block != nullptr) return block;
  const int saved_errno = errno;
  void* memory =
      mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved_errno;
  if (memory == MAP_FAILED) return nullptr;
  auto* fresh = static_cast<Block*>(memory);
  if (blocks[index].compare_exchange_strong(block, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, sizeof(Block));
  return block;
}

Registration* registration_at(std::size_t index) noexcept {
  Block* block = blocks[index / block_entries].load(std::memory_order_acquire);
  return block != nullptr ? &(*block)[index % block_entries] : nullptr;
}

// Where a module's registrations are: all were made by one constructor, so they lie together.
struct Module {
  std::atomic<const void*> handle;
  std::size_t first, end;
};
constexpr std::size_t module_count = 8192;
constexpr std::size_t longest_module_probe = 64;
constinit std::array<Module, module_count> modules{};
constinit std::atomic<Module*> latest_module{nullptr};

// A closed module's place: taken again by inserts, passed over by searches.
const void* closed_module() noexcept { return &modules; }

Module& module_place(const void* handle, std::size_t probe) noexcept {
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(handle));
  return modules[(hash + probe) % module_count];
}

Module* find_module(const void* handle) noexcept {
  for (std::size_t probe = 0; probe < longest_module_probe; ++probe) {
    Module& module = module_place(handle, probe);
    const void* key = module.handle.load(std::memory_order_acquire);
    if (key == handle) return &module;
    if (key == nullptr) return nullptr;
  }
  return nullptr;
}

Module* add_module(const void* handle, std::size_t index) noexcept {
  for (std::size_t probe = 0; probe < longest_module_probe; ++probe) {
    Module& module = module_place(handle, probe);
    const void* key = module.handle.load(std::memory_order_relaxed);
    if ((key == nullptr || key == closed_module()) &&
        module.handle.compare_exchange_strong(key, handle, std::memory_order_acq_rel)) {
      module.first = index;
      module.end = index;
      return &module;
    }
  }
  return nullptr;
}

// False where there is no room: a name that could not be forgotten must not be kept.
bool note_in_module(const void* handle, std::size_t index) noexcept {
  Module* module = latest_module.load(std::memory_order_relaxed);
  if (module == nullptr || module->handle.load(std::memory_order_relaxed) != handle) {
    module = find_module(handle);
    if (module == nullptr) module = add_module(handle, index);
    if (module == nullptr) return false;
    latest_module.store(module, std::memory_order_relaxed);
  }
  if (index >= module->end) module->end = index + 1;
  return true;
}

// Newest first: after dlclose and dlopen the same address may mean another kernel.
const char* registered_name(const void* function) noexcept {
  std::size_t count = registered.load(std::memory_order_acquire);
  if (count > block_entries * block_count) count = block_entries * block_count;
  while (count-- > 0) {
    const Registration* entry = registration_at(count);
    if (entry == nullptr) continue;
    if (entry->function.load(std::memory_order_acquire) == function) return entry->name;
  }
  return nullptr;
}

// Found offsets, open addressing. 16,384 distinct kernels in one job is beyond what was ever seen;
// with the table full the name is found again at each launch.
struct CachedOffset {
  std::atomic<const void*> function;
  std::atomic<std::uint32_t> offset;
};
// Cached for a handle that nobody registered (a kernel of the driver API's libraries), so that it
// does not cost a search at each launch.
constexpr std::uint32_t unknown_kernel = 1;
constexpr std::size_t cache_entries = 16384;
constexpr std::size_t longest_probe = 32;
constinit std::array<CachedOffset, cache_entries> cache{};

CachedOffset& cached(const void* function, std::size_t probe) noexcept {
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(function));
  return cache[(hash + probe) % cache_entries];
}

// Out of line: what it needs of registers would be saved at each launch.
[[gnu::noinline]] std::uint32_t find_and_cache(const void* function) noexcept {
  const char* name = registered_name(function);
  const std::uint32_t offset = name != nullptr ? ring::target.ring.add_name(name) : 0;
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CachedOffset& entry = cached(function, probe);
    const void* expected = nullptr;
    if (entry.function.compare_exchange_strong(expected, function, std::memory_order_acq_rel) ||
        expected == function) {
      entry.offset.store(name != nullptr ? offset : unknown_kernel, std::memory_order_release);
      break;
    }
  }
  return offset;
}

// What is known of it has changed: the next launch shall look again.
void forget_offset(const void* function) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CachedOffset& entry = cached(function, probe);
    const void* key = entry.function.load(std::memory_order_acquire);
    if (key == nullptr) return;
    if (key == function) return entry.offset.store(0, std::memory_order_release);
  }
}

}  // namespace

void register_kernel(const void* function, const char* name, const void* module) noexcept {
  if (function == nullptr) return;
  const std::size_t index = registered.fetch_add(1, std::memory_order_acq_rel);
  if (index >= block_entries * block_count) return;  // a million kernels: the rest stay unnamed
  Block* block = block_at(index / block_entries);
  if (block == nullptr || (module != nullptr && !note_in_module(module, index))) return;
  Registration& entry = (*block)[index % block_entries];
  entry.name = name;
  entry.module = module;
  entry.function.store(function, std::memory_order_release);
  forget_offset(function);
}

void forget_kernels(const void* handle) noexcept {
  Module* module = handle != nullptr ? find_module(handle) : nullptr;
  if (module == nullptr) return;
  for (std::size_t index = module->first; index < module->end; ++index) {
    Registration* entry = registration_at(index);
    const void* function =
        entry != nullptr ? entry->function.load(std::memory_order_acquire) : nullptr;
    if (function == nullptr || entry->module != handle) continue;
    entry->function.store(nullptr, std::memory_order_release);
    forget_offset(function);
  }
  module->handle.store(closed_module(), std::memory_order_release);
}

namespace {

// The names copied last, by handle: some programs ask for a kernel anew before each launch.
struct Copied {
  std::atomic<const void*> function;
  std::atomic<const char*> name;
};
constinit std::array<Copied, 4096> latest_copies{};

const char* copy_of(const char* name) noexcept {
  static constinit std::atomic<std::size_t> copied_bytes{0};
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

void register_kernel_copied(const void* function, const char* name) noexcept {
  if (name == nullptr || function == nullptr) return;
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(function));
  Copied& place = latest_copies[hash % latest_copies.size()];
  const char* known = place.name.load(std::memory_order_acquire);
  const bool is_same = place.function.load(std::memory_order_acquire) == function;
  // Copies are never freed.
  if (known != nullptr && is_same && std::strcmp(known, name) == 0) return;
  // Without a name rather than with that of the kernel that had this handle before.
  const char* copy = copy_of(name);
  register_kernel(function, copy);
  place.name.store(nullptr, std::memory_order_release);
  place.function.store(function, std::memory_order_release);
  place.name.store(copy, std::memory_order_release);
}

void alias_kernel(const void* handle, const void* function) noexcept {
  if (handle == function) return;
  // Copied: it outlives the library that registered it.
  if (const char* name = registered_name(function)) register_kernel_copied(handle, name);
}

std::uint32_t kernel_name(const void* function) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    const CachedOffset& entry = cached(function, probe);
    const void* key = entry.function.load(std::memory_order_acquire);
    if (key == nullptr) break;
    if (key != function) continue;
    const std::uint32_t offset = entry.offset.load(std::memory_order_acquire);
    if (offset == unknown_kernel) return 0;
    if (offset != 0) return offset;
    break;  // being cached by another thread, or registered since
  }
  return find_and_cache(function);
}

void forget_kernel_offsets() noexcept {
  for (CachedOffset& entry : cache) {
    entry.offset.store(0, std::memory_order_relaxed);
    entry.function.store(nullptr, std::memory_order_release);
  }
}

}  // namespace traceagent::door
