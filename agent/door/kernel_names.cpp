#include "agent/door/kernel_names.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "agent/door/interned_text.hpp"
#include "agent/door/kernel_name_copies.hpp"
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

// Handles whose registrations found no room, so that one which is used again has no name rather
// than its old one: a bit for many handles. What shares a bit has none either.
constinit std::array<std::atomic<std::uint64_t>, 16384> given_up{};
constinit std::atomic<bool> has_given_up{false};

std::atomic<std::uint64_t>& given_up_word(const void* function, std::uint64_t& bit) noexcept {
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(function));
  bit = std::uint64_t{1} << (hash & 63);
  return given_up[hash / 64 % given_up.size()];
}

bool is_given_up(const void* function) noexcept {
  if (!has_given_up.load(std::memory_order_acquire)) return false;
  std::uint64_t bit = 0;
  return (given_up_word(function, bit).load(std::memory_order_acquire) & bit) != 0;
}

void count_lost_name() noexcept {
  if (ring::target.ring.valid()) ring::target.ring.count_drop(ring::DropCause::names_full);
}

// Newest first: after dlclose and dlopen the same address may mean another kernel.
const char* registered_name(const void* function) noexcept {
  // No function: what forget_kernels() leaves, with the name of a library that has gone.
  if (function == nullptr || is_given_up(function)) return nullptr;
  std::size_t count = registered.load(std::memory_order_acquire);
  if (count > block_entries * block_count) count = block_entries * block_count;
  while (count-- > 0) {
    const Registration* entry = registration_at(count);
    if (entry == nullptr) continue;
    if (entry->function.load(std::memory_order_acquire) == function) return entry->name;
  }
  return nullptr;
}

// Kernels that are registered anew, as those are that a program asks for before each launch, have
// their names in the ring once; but for what intern() would cut.
std::uint32_t name_in_ring(const char* name) noexcept {
  const std::string_view text(name);
  return text.size() <= longest_interned_text ? intern(text) : ring::target.ring.add_name(text);
}

// Also where its name found no room, which is counted once then.
std::uint32_t look_up(const void* function) noexcept {
  const char* name = registered_name(function);
  const std::uint32_t offset = name != nullptr && *name != '\0' ? name_in_ring(name) : 0;
  return offset != 0 ? offset : unknown_kernel;
}

// nullptr: no room, for it or for its module.
Registration* next_registration(const void* module) noexcept {
  const std::size_t index = registered.fetch_add(1, std::memory_order_acq_rel);
  if (index >= block_entries * block_count) return nullptr;  // a million
  Block* block = block_at(index / block_entries);
  if (block == nullptr || (module != nullptr && !note_in_module(module, index))) return nullptr;
  return &(*block)[index % block_entries];
}

// Once for each of its registrations.
void give_up(const void* function) noexcept {
  std::uint64_t bit = 0;
  given_up_word(function, bit).fetch_or(bit, std::memory_order_acq_rel);
  has_given_up.store(true, std::memory_order_release);
  count_lost_name();
}

}  // namespace

void register_kernel(const void* function, const char* name, const void* module) noexcept {
  if (function == nullptr) return;
  Registration* entry = is_given_up(function) ? nullptr : next_registration(module);
  if (entry != nullptr) {
    entry->name = name;
    entry->module = module;
    entry->function.store(function, std::memory_order_release);
  } else {
    give_up(function);
  }
  forget_cached_offset(function);
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
    forget_cached_offset(function);
  }
  module->handle.store(closed_module(), std::memory_order_release);
}

namespace {

// Which handle was registered for which name: some programs ask for a kernel anew before each
// launch. The name by a hash with the handle in it, so that what two threads mix is no other's.
struct Copied {
  std::atomic<const void*> function;
  std::atomic<std::uint64_t> function_and_name;
};
constinit std::array<Copied, 16384> latest_copies{};
constexpr std::size_t longest_copy_probe = 16;

// Its own place, an unused one, or that of another handle, which has to be registered again then.
Copied& copied_place(const void* function) noexcept {
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(function));
  for (std::size_t probe = 0; probe < longest_copy_probe; ++probe) {
    Copied& place = latest_copies[(hash + probe) % latest_copies.size()];
    const void* key = place.function.load(std::memory_order_acquire);
    if (key == function || key == nullptr) return place;
  }
  const std::uint64_t taken = hash / latest_copies.size() % longest_copy_probe;
  return latest_copies[(hash + taken) % latest_copies.size()];
}

}  // namespace

void register_kernel_copied(const void* function, const char* name) noexcept {
  if (name == nullptr || function == nullptr) return;
  const std::uint64_t hash = event::hash_text(name);
  const std::uint64_t both = event::combine(hash, reinterpret_cast<std::uintptr_t>(function));
  Copied& place = copied_place(function);
  if (place.function_and_name.load(std::memory_order_acquire) == both) return;
  // Without a name rather than with that of the kernel that had this handle before.
  const char* copy = copy_of_name(name, hash);
  if (copy == nullptr) count_lost_name();
  register_kernel(function, copy);
  place.function.store(function, std::memory_order_release);
  place.function_and_name.store(both, std::memory_order_release);
}

void alias_kernel(const void* handle, const void* function) noexcept {
  if (handle == function) return;
  // Copied: it outlives the library that registered it.
  if (const char* name = registered_name(function)) register_kernel_copied(handle, name);
}

std::uint32_t find_kernel_name(const void* function) noexcept {
  if (function == nullptr) return 0;  // an empty place would be taken for its own
  std::uint32_t offset = cached_offset(function);
  if (offset == 0) {
    offset = look_up(function);
    cache_offset(function, offset);
  }
  return offset != unknown_kernel ? offset : 0;
}

}  // namespace traceagent::door
