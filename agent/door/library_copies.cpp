#include "agent/door/library_copies.hpp"

#include <array>

#include "agent/door/targets.hpp"

namespace traceagent::door {

constinit thread_local const void* calling __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constinit std::array<std::atomic<bool>, library_count> told_apart{};
constinit std::array<std::array<std::atomic<void*>, api::function_count>, library_count>
    handed_out{};

// Keys with one value each, which are never given up. Writers claim a place with the key, and fill
// in the value: a reader that comes between finds none.
template <std::size_t Places>
class KnownAddresses {
 public:
  void* find(std::uint64_t key) const noexcept {
    for (std::size_t i = 0; i < most_probes; ++i) {
      const Place& place = places_[(first_of(key) + i) % Places];
      const std::uint64_t there = place.key.load(std::memory_order_relaxed);
      if (there == key) return place.address.load(std::memory_order_acquire);
      if (there == 0) return nullptr;
    }
    return nullptr;
  }
  void keep(std::uint64_t key, void* address) noexcept {
    for (std::size_t i = 0; i < most_probes; ++i) {
      Place& place = places_[(first_of(key) + i) % Places];
      std::uint64_t there = 0;
      place.key.compare_exchange_strong(there, key, std::memory_order_relaxed);
      if (there != 0 && there != key) continue;
      place.address.store(address, std::memory_order_release);
      return;
    }
  }

 private:
  static constexpr std::size_t most_probes = 16;
  static std::size_t first_of(std::uint64_t key) noexcept {
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15U >> 40) % Places;
  }

  struct Place {
    std::atomic<std::uint64_t> key{0};
    std::atomic<void*> address{nullptr};
  };
  std::array<Place, Places> places_{};
};

constinit KnownAddresses<1 << 16> of_callers;  // PyTorch launches from thousands of places
constinit KnownAddresses<1 << 14> of_modules;

// User addresses have 47 bits.
std::uint64_t key_of(Library library, api::Function function, const void* caller) noexcept {
  static_assert(api::function_count < 1 << 13 && library_count < 1 << 3);
  return reinterpret_cast<std::uintptr_t>(caller) | static_cast<std::uint64_t>(function) << 48 |
         static_cast<std::uint64_t>(library) << 61;
}

std::uint64_t key_of(void** module) noexcept { return reinterpret_cast<std::uintptr_t>(module); }

}  // namespace

bool are_told_apart(Library library) noexcept {
  return told_apart[static_cast<std::size_t>(library)].load(std::memory_order_acquire);
}

void tell_apart(Library library) noexcept {
  const auto index = static_cast<std::size_t>(library);
  told_apart[index].store(true, std::memory_order_release);
  for (Target& target : targets[index]) target.store(nullptr, std::memory_order_relaxed);
}

// The first: no other one's wrapper is handed out (wrappers.cpp).
void note_handed_out(Library library, api::Function function, void* target) noexcept {
  void* none = nullptr;
  handed_out[static_cast<std::size_t>(library)][static_cast<std::size_t>(function)]
      .compare_exchange_strong(none, target, std::memory_order_relaxed);
}

void* handed_out_for(Library library, api::Function function) noexcept {
  return handed_out[static_cast<std::size_t>(library)][static_cast<std::size_t>(function)].load(
      std::memory_order_relaxed);
}

void* known_of_caller(Library library, api::Function function, const void* caller) noexcept {
  return of_callers.find(key_of(library, function, caller));
}

void remember_of_caller(Library library, api::Function function, const void* caller,
                        void* found) noexcept {
  of_callers.keep(key_of(library, function, caller), found);
}

void remember_module(void** module, void* unregister) noexcept {
  of_modules.keep(key_of(module), unregister);
}

void* unregister_of(void** module) noexcept { return of_modules.find(key_of(module)); }

}  // namespace traceagent::door
