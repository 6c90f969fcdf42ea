#include "tools/upload/xml_text.hpp"

#include <array>
#include <utility>

namespace traceagent::tools {

namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> entities = {
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};

std::string resolved(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : entities) {
      if (!text.starts_with(entity)) continue;
      taken = entity.size();
      c = meaning;
    }
    out += c;
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::vector<std::string> elements(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name) + ">";
  const std::string close = "</" + std::string(name) + ">";
  std::vector<std::string> found;
  for (std::size_t at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    const std::size_t end = xml.find(close, at);
    if (end == std::string_view::npos) break;
    found.emplace_back(xml.substr(at, end - at));
    at = end;
  }
  return found;
}

std::string element(std::string_view xml, std::string_view name) {
  const std::vector<std::string> found = elements(xml, name);
  return found.empty() ? std::string() : resolved(found.front());
}

std::string as_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    std::string_view written(&c, 1);
    for (const auto& [entity, meaning] : entities) {
      if (c == meaning) written = entity;
    }
    out += written;
  }
  return out;
}

}  // namespace traceagent::tools
