#include "agent/trace/document.hpp"

#include "agent/trace/json_object.hpp"

namespace traceagent::trace {

namespace {

JsonArray pg_config_json(const std::vector<ProcessGroup>& groups) {
  JsonArray array;
  for (const ProcessGroup& group : groups) {
    JsonObject each;
    each.add("pg_name", group.name).add("pg_desc", group.description);
    each.add("backend_config", group.backend);
    if (group.size != 0) each.add("pg_size", group.size);
    array.add(each.add("ranks", group.ranks));
  }
  return array;
}

}  // namespace

// White space after each colon: HTA looks for `"rank": N` with a regular expression.
std::string distributed_info(const DocumentHeader& header) {
  if (!header.distributed_info_json.empty()) {
    return header.distributed_info_json;
  }
  JsonObject info;
  info.add("rank", header.rank).add("world_size", header.world_size);
  if (!header.ranks.empty()) {
    info.add("ranks", header.ranks);
  }
  if (!header.backend.empty()) {
    info.add("backend", header.backend);
  }
  if (!header.pg_config.empty()) {
    info.add("pg_count", header.pg_config.size());
    info.add("pg_config", pg_config_json(header.pg_config));
  }
  if (!header.nccl_version.empty()) {
    info.add("nccl_version", header.nccl_version);
  }
  if (!header.run_key.empty()) {
    info.add("node_rank", header.node_rank).add("run_key", header.run_key);
    if (!header.host.empty()) info.add("host", header.host);
  }
  return info.text();
}

void write_header(OutputFile& file, const DocumentHeader& header) {
  std::string text = "{\n\"schemaVersion\": 1,\n\"distributedInfo\": ";
  text += distributed_info(header);
  // "ms": chrome://tracing takes times as whole microseconds then when it nests slices, so that a
  // call within the same microsecond as the one before lies within it, and its arrow is lost.
  text += ",\n\"displayTimeUnit\": \"ns\",\n\"baseTimeNanoseconds\": ";
  text += JsonValue(header.base_ns).text();
  text += ",\n\"traceName\": ";
  text += JsonValue(header.trace_name).text();
  text += ",\n\"deviceProperties\": ";
  text += header.device_properties_json;
  if (!header.sources_json.empty()) {
    // One a line: a long job's list must not outgrow the longest line that a reader takes.
    text += ",\n\"sources\": [";
    for (const std::string& source : header.sources_json) {
      text.append(&source == header.sources_json.data() ? "\n" : ",\n").append(source);
    }
    text += "\n]";
  }
  if (!header.selections_json.empty()) {
    text += ",\n\"selections\": " + header.selections_json;
  }
  text += ",\n\"traceEvents\": [";  // the EventWriter puts a newline before each event
  file.append(text);
}

void write_footer(OutputFile& file, std::string_view metadata_json, bool complete) {
  file.append("\n],\n\"traceagent\": ");
  file.append(metadata_json);
  file.append(complete ? ",\n\"complete\": true\n}\n" : "\n}\n");
}

}  // namespace traceagent::trace
