#include "tools/import/own_files.hpp"

#include <algorithm>
#include <string_view>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "tools/import/foreign_lanes.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

std::optional<ImportedSource> imported_source(const std::string& source) {
  const auto name = trace::string_member(source, "name");
  const auto content = trace::string_member(source, "content");
  const auto rank = trace::integer_member(source, "rank");
  if (!name || !content || !rank) return std::nullopt;
  ImportedSource imported{std::string(*name), std::string(*content), *rank};
  imported.told_rank = trace::integer_member(source, trace::told_rank_member);
  imported.named_rank = trace::integer_member(source, trace::named_rank_member);
  imported.has_clock = trace::member(source, trace::has_clock_member) != "false";
  return imported;
}

}  // namespace

std::string ImportedSource::file_name() const {
  return trace::unescaped(is_run() ? name.substr(0, name.rfind('#')) : name);
}

OwnFiles::OwnFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    trace::TraceReader reader;
    if (!reader.open(path)) continue;
    add_ranks(reader.header());
    // What holds only a part of them replaces nothing.
    (reader.header().selections.empty() ? sources : parts)
        .emplace(path, source_keys(reader.header()));
    world_size = std::max(world_size, reader.header().world_size);
    const std::int64_t base = reader.header().base_ns;
    first_ns = std::min(first_ns.value_or(base), base);
    if (!imported.empty()) add_processes(reader);
  }
}

// Their names stand before the events.
void OwnFiles::add_processes(trace::TraceReader& reader) {
  for (trace::TraceLine line = reader.next(); line.kind == trace::TraceLine::Kind::metadata;
       line = reader.next()) {
    if (trace::string_member(line.text, "name") != "process_name") continue;
    const auto args = trace::member(line.text, "args").value_or("");
    const auto pid = trace::integer_member(line.text, "pid");
    const auto identity = trace::string_member(args, imported_from);
    if (pid && identity) processes.emplace_back(*pid, *identity);
  }
}

void OwnFiles::add_ranks(const trace::TraceHeader& header) {
  ranks.insert(header.rank);
  trace::for_each_element(trace::member(header.distributed_info, "ranks").value_or(""),
                          [this](std::string_view rank) {
                            std::int64_t number = 0;
                            if (whole_number(rank, number)) ranks.insert(number);
                          });
  has_job = has_job || header.sources.empty();
  for (const std::string& source : header.sources) has_job = !add_imported(source) || has_job;
}

bool OwnFiles::add_imported(const std::string& source) {
  const auto known = imported_source(source);
  if (known) imported.try_emplace(trace::identity_of(source), *known);
  return known.has_value();
}

}  // namespace traceagent::tools
