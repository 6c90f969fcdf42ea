#include "agent/door/wrappers.hpp"

#include <algorithm>
#include <array>

#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {
namespace {

std::span<const Wrapper> wrappers_of(Library library) noexcept {
  switch (library) {
    case Library::cudart_11:
      return cudart_11_wrappers();
    case Library::cudart_12:
      return cudart_12_wrappers();
    case Library::cudart_13:
      return cudart_13_wrappers();
    case Library::nccl:
      return nccl_wrappers();
    case Library::cuda:
      return driver_wrappers();
    case Library::count:
      break;
  }
  return {};
}

// libcuda may export another address than cuGetProcAddress gives: the same function, as long as
// both are that library's own.
bool are_the_same(Library library, const void* known, const void* real) noexcept {
  return known == real || (library == Library::cuda && are_in_one_object(known, real));
}

}  // namespace

api::Function find_called(std::string_view name) noexcept {
  const api::Function function = find_function(name);
  if (function != api::Function::none || name.empty()) return function;
  for (std::size_t i = 0; i < api::function_count; ++i) {
    const auto each = static_cast<api::Function>(i);
    if (api::name_of(each).shown == name) return each;
  }
  return api::Function::none;
}

std::vector<std::string_view> called_names() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < api::function_count; ++i) {
    const std::string_view shown = api::name_of(static_cast<api::Function>(i)).shown;
    if (!shown.empty()) names.push_back(shown);
  }
  return names;
}

void* wrapper_of(Library library, api::Function function) noexcept {
  for (const Wrapper& wrapper : wrappers_of(library)) {
    if (wrapper.function == function) return wrapper.address;
  }
  return nullptr;
}

void* wrapper_for_target(Library library, api::Function function, void* real) noexcept {
  void* wrapper = wrapper_of(library, function);
  // Another tool's cuGetProcAddress may have asked our dlsym.
  if (wrapper == nullptr || is_ours(real)) return nullptr;
  // By the caller's address its own copy would be called, which need not be that it asked for.
  if (are_told_apart(library)) return nullptr;
  // Not simply `real`: what is linked goes the same way as what was looked up, and a tool that is
  // preloaded behind us would never be called again.
  void* known = known_target(library, function);
  if (known == nullptr) known = find_target(library, function);
  if (known == nullptr) {
    // Of another namespace it is nobody's but the caller's, who may close it.
    if (!is_in_our_namespace(real)) return nullptr;
    keep_loaded(real);
    known = real;
  }
  if (!are_the_same(library, known, real)) return nullptr;
  const bool is_of_first = is_of_first_copy(library, real);
  if (!is_of_first) keep_loaded(real);
  // Of a second copy it is for who asked: the first call of it tells the copies apart. So does a
  // communicator's maker that belongs to another one. All else is for all callers from now on.
  if (is_of_first && !makes_communicators(function)) {
    void* there = nullptr;
    target(library, function).compare_exchange_strong(there, real, std::memory_order_relaxed);
    if (there != nullptr && !are_the_same(library, there, real)) return nullptr;
  }
  note_handed_out(library, function, real);
  // Another thread may have found a second copy meanwhile, and have emptied what it saw.
  if (are_told_apart(library)) target(library, function).store(nullptr, std::memory_order_relaxed);
  return wrapper;
}

}  // namespace traceagent::door
