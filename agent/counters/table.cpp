#include "agent/counters/table.hpp"

namespace traceagent::counters {
namespace {

constexpr std::string_view in_words(Scope scope) noexcept {
  if (scope == Scope::process) return "each rank";
  return scope == Scope::node ? "node" : "each GPU";
}

}  // namespace

std::string reference() {
  std::string text = "| counter | series | of | meaning |\n|---|---|---|---|\n";
  for (const CounterRow& row : rows) {
    text += "| ";
    if (row.scope == Scope::gpu) text += "GPU *n* ";
    text += std::string(row.name) + " | ";
    std::string_view comma;
    for (const Series& series : row.series) {
      if (series.kind == Kind::none || series.kind == Kind::whole) continue;
      text += std::string(comma) + std::string(series.key);
      comma = ", ";
    }
    text += " | " + std::string(in_words(row.scope)) + " | " + std::string(row.help) + " |\n";
  }
  return text;
}

}  // namespace traceagent::counters
