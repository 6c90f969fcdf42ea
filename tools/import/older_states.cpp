#include "tools/import/older_states.hpp"

#include <cstddef>
#include <set>
#include <string_view>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_object.hpp"
#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

namespace {

// As it stands in "sources" of a merged file, without its quotes.
std::string name_in_sources(const ForeignFile& file) {
  const std::string json = trace::JsonValue(file.trace_name()).text();
  return json.substr(1, json.size() - 2);
}

}  // namespace

OlderStates older_states_of(ForeignFile& file, const OwnFiles& own) {
  const std::string name = trace::without_gz(name_in_sources(file));
  const auto is_of_file = [&name](const std::string& source_name) {
    return trace::without_gz(source_name.substr(0, source_name.rfind('#'))) == name ||
           trace::without_gz(source_name) == name;
  };
  const auto mark_of = [](const std::string& content) {
    return content.substr(0, content.find('#'));
  };
  std::set<std::string> marks;
  for (const auto& [source, rank] : own.imported) {
    if (is_of_file(source.first)) marks.insert(mark_of(source.second));
  }
  marks = marks_of_beginnings(file.report().path, marks);
  constexpr std::size_t most_bytes = std::size_t{16} << 10;  // they stand in RunFile's heads
  OlderStates older;
  trace::JsonArray sources;
  for (const auto& [source, rank] : own.imported) {
    const auto& [source_name, content] = source;
    if (!is_of_file(source_name) || !marks.contains(mark_of(content))) continue;
    trace::JsonObject state;
    state.add("name", trace::JsonValue::raw("\"" + source_name + "\"")).add("content", content);
    if (sources.text().size() + state.text().size() > most_bytes) continue;
    older.rank = rank;
    sources.add(state);
  }
  if (older.rank) older.sources = sources.text();
  return older;
}

}  // namespace traceagent::tools
