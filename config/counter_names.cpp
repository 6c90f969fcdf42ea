#include "config/counter_names.hpp"

#include "config/nearest.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

bool* find(CounterScopes& scopes, std::string_view name) noexcept {
  if (name == "process") return &scopes.process;
  if (name == "node") return &scopes.node;
  return name == "gpu" ? &scopes.gpu : nullptr;
}

}  // namespace

ParsedCounters parse_counters(std::string_view text) {
  ParsedCounters parsed;
  if (trimmed(text).empty() || trimmed(text) == "none") return parsed;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = trimmed(text.substr(0, comma));
    bool* const scope = find(parsed.scopes, name);
    if (scope == nullptr) {
      return {{},
              in_quotes(name) + " is not one of process, node, gpu; " +
                  nearest_in_words(name, {"process", "node", "gpu"})};
    }
    *scope = true;
    if (comma == std::string_view::npos) return parsed;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace traceagent::config
