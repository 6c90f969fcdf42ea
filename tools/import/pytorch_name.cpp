#include "tools/import/pytorch_name.hpp"

#include <algorithm>

#include "tools/import/foreign_ids.hpp"

namespace traceagent::tools {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What is behind the last `mark` of `text`, which loses both; empty: there is none.
std::string_view take_last(std::string_view& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view last = text.substr(at + 1);
  text = text.substr(0, at);
  return last;
}

}  // namespace

std::optional<PyTorchName> pytorch_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view end = ".pt.trace.json";
  if (name.ends_with(".gz")) name.remove_suffix(3);
  if (!name.ends_with(end)) return std::nullopt;
  name.remove_suffix(end.size());
  if (!is_number(take_last(name, '.'))) return std::nullopt;
  PyTorchName found;
  const std::string_view pid = take_last(name, '_');
  if (!is_number(pid) || !whole_number(pid, found.pid)) return std::nullopt;
  if (name.empty() || name.starts_with("localhost")) return std::nullopt;
  found.host = name;
  return found;
}

}  // namespace traceagent::tools
