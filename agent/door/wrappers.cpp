#include "agent/door/wrappers.hpp"

#include <algorithm>
#include <array>

#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {
namespace {

struct Symbol {
  std::string_view text;
  api::Function function;
};

constexpr auto sorted_symbols() {
  std::array<Symbol, api::function_count> symbols{};
  for (std::size_t i = 0; i < api::function_count; ++i) {
    symbols[i] = {api::function_names[i].symbol, static_cast<api::Function>(i)};
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const Symbol& a, const Symbol& b) { return a.text < b.text; });
  return symbols;
}
constexpr auto symbols = sorted_symbols();

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

api::Function find_function(std::string_view symbol) noexcept {
  const auto* found = std::lower_bound(
      symbols.begin(), symbols.end(), symbol,
      [](const Symbol& entry, std::string_view text) { return entry.text < text; });
  const bool hit = found != symbols.end() && found->text == symbol && !symbol.empty();
  return hit ? found->function : api::Function::none;
}

api::Function find_called(std::string_view name) noexcept {
  const api::Function function = find_function(name);
  if (function != api::Function::none || name.empty()) return function;
  const auto* shown =
      std::find_if(std::begin(api::function_names), std::end(api::function_names),
                   [&](const api::FunctionName& each) { return each.shown == name; });
  return shown != std::end(api::function_names)
             ? static_cast<api::Function>(shown - std::begin(api::function_names))
             : api::Function::none;
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
  void* known = nullptr;
  target(library, function).compare_exchange_strong(known, real, std::memory_order_relaxed);
  if (known == nullptr) keep_loaded(real);
  return known == nullptr || are_the_same(library, known, real) ? wrapper : nullptr;
}

}  // namespace traceagent::door
