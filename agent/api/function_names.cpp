#include <algorithm>
#include <array>

#include "agent/api/function.hpp"
#include "agent/api/packed_texts.hpp"

namespace traceagent::api {
namespace {

struct Names {
  std::string_view symbol, shown;
};

// nvcc 13's __cudaLaunchKernel is what every consumer counts as cudaLaunchKernel.
constexpr std::string_view without_underscores(std::string_view name) {
  return name.starts_with("__") ? name.substr(2) : name;
}

// For the compiler alone.
constexpr Names rows[] = {
    {"", ""},
#define ROW(shown, symbol) {#symbol, without_underscores(#shown)},
#define REGISTRATION(majors, name) {#name, #name},
#define NCCL(name, parameters, arguments, ...) {#name, #name},
#define DRIVER_ROW(id, symbol, name) {symbol, name},
#define SECTION(section)
#include "agent/api/function_rows.inc"
    {"nvtx_range", "range"},
    {"nvtx_mark", "mark"},
};
static_assert(std::size(rows) == function_count);

template <std::string_view Names::*column>
consteval auto column_of_rows() {
  std::array<std::string_view, function_count> texts;
  for (std::size_t i = 0; i < function_count; ++i) texts[i] = rows[i].*column;
  return texts;
}
constexpr auto symbols = packed([] { return column_of_rows<&Names::symbol>(); });
constexpr auto shown_names = packed([] { return column_of_rows<&Names::shown>(); });

// By their symbols.
consteval auto sorted_by_symbol() {
  std::array<Function, function_count> functions;
  for (std::size_t i = 0; i < function_count; ++i) functions[i] = static_cast<Function>(i);
  std::sort(functions.begin(), functions.end(), [](Function a, Function b) {
    return rows[static_cast<std::size_t>(a)].symbol < rows[static_cast<std::size_t>(b)].symbol;
  });
  return functions;
}
constexpr auto by_symbol = sorted_by_symbol();

std::string_view symbol_of(Function function) noexcept {
  return symbols[static_cast<std::size_t>(function)];
}

std::string_view category_of(Function function) noexcept {
  if (function == Function::none) return "";
  if (function < Function::first_nccl) return "cuda_runtime";
  if (is_nccl(function)) return "nccl";
  return is_driver(function) ? "cuda_driver" : "user_annotation";
}

}  // namespace

FunctionName name_of(Function function) noexcept {
  if (function >= Function::count) function = Function::none;
  const auto index = static_cast<std::size_t>(function);
  return {symbols[index], shown_names[index], category_of(function)};
}

Function find_function(std::string_view symbol) noexcept {
  const auto* found =
      std::lower_bound(by_symbol.begin(), by_symbol.end(), symbol,
                       [](Function each, std::string_view text) { return symbol_of(each) < text; });
  const bool is_found = found != by_symbol.end() && symbol_of(*found) == symbol;
  return is_found ? *found : Function::none;
}

}  // namespace traceagent::api
