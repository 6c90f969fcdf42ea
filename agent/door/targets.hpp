#pragma once
// The real functions behind the wrappers, found once and kept.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/api/function.hpp"
#include "agent/door/library_copies.hpp"

namespace traceagent::door {

// The libraries that a wrapper can stand for. Two majors of libcudart in one process are two
// libraries with functions of the same names.
enum class Library : std::uint8_t { cudart_11, cudart_12, cudart_13, nccl, cuda, count };
inline constexpr std::size_t library_count = static_cast<std::size_t>(Library::count);

struct LibraryName {
  const char* soname;
  const char* version;  // of its symbols; null: unversioned
};
inline constexpr LibraryName library_names[library_count] = {
    {"libcudart.so.11.0", "libcudart.so.11.0"},
    {"libcudart.so.12", "libcudart.so.12"},
    {"libcudart.so.13", "libcudart.so.13"},
    {"libnccl.so.2", nullptr},
    {"libcuda.so.1", nullptr},
};

using Target = std::atomic<void*>;
// Hidden in its declaration too (the option -fvisibility is for definitions alone): without it
// every wrapper takes the address from the global offset table first.
[[gnu::visibility(
    "hidden")]] extern constinit std::array<std::array<Target, api::function_count>, library_count>
    targets;

inline Target& target(Library library, api::Function function) noexcept {
  return targets[static_cast<std::size_t>(library)][static_cast<std::size_t>(function)];
}

// Looks the real function up: RTLD_NEXT, then the copy where others of the library were found, then
// the loaded library of that SONAME (a Python extension's libcudart is not in the global scope),
// then every loaded object but agents' that has it in the library's version. Never loads anything.
// nullptr when there is none. Kept for all callers, but for what is of a second copy.
void* find_target(Library library, api::Function function) noexcept;
// The same for a call that has come: its caller's own libraries go before what others have called
// (library_copies.hpp), and where nobody has the version, the caller asked for none. `caller`:
// where it returns to; nullptr where that is not known.
void* find_called_target(Library library, api::Function function, const void* caller) noexcept;

// As that, but looked up anew: what is remembered of callers is of calls, not of registrations.
void* find_for_caller(Library library, api::Function function, const void* caller) noexcept;

// Those are looked up at each call unless they are for all.
bool makes_communicators(api::Function function) noexcept;

// Whether a copy that is not in the global scope has been called.
bool has_copy(Library library) noexcept;
// Whether it lies there, or there is none: then it may be for all callers.
bool is_of_first_copy(Library library, const void* address) noexcept;

inline void* known_target(Library library, api::Function function) noexcept {
  return target(library, function).load(std::memory_order_relaxed);
}

// The cached target, looked up at the first call, or at each where copies are told apart.
inline void* real_function(Library library, api::Function function) noexcept {
  void* found = known_target(library, function);
  return found != nullptr ? found : find_called_target(library, function, calling);
}

}  // namespace traceagent::door
