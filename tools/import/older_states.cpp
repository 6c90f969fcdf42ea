#include "tools/import/older_states.hpp"

#include <cstddef>
#include <set>

#include "agent/trace/json_object.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::tools {

namespace {

// As far as identity_of() needs it.
trace::JsonObject state_json(const ImportedSource& source) {
  trace::JsonObject state;
  state.add("name", trace::JsonValue::raw("\"" + source.name + "\""));
  state.add("content", source.content);
  if (source.told_rank) state.add(trace::told_rank_member, *source.told_rank);
  if (!source.has_clock) state.add(trace::has_clock_member, false);
  return state;
}

}  // namespace

OlderStates older_states_of(ForeignFile& file, const OwnFiles& own) {
  std::set<std::string> marks;
  for (const auto& [identity, source] : own.imported) {
    if (file.may_have_been(source)) marks.insert(source.mark());
  }
  marks = file.beginnings_among(marks);
  constexpr std::size_t most_bytes = std::size_t{16} << 10;  // they stand in RunFile's heads
  OlderStates older;
  trace::JsonArray sources;
  for (const auto& [identity, source] : own.imported) {
    if (!marks.contains(source.mark()) || !file.may_have_been(source)) continue;
    const trace::JsonObject state = state_json(source);
    if (sources.text().size() + state.text().size() > most_bytes) continue;
    older.rank = source.rank;
    sources.add(state);
  }
  if (older.rank) older.sources = sources.text();
  return older;
}

}  // namespace traceagent::tools
