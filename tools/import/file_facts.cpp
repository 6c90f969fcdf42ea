#include "tools/import/file_facts.hpp"

#include <algorithm>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/import/exact_time.hpp"

namespace traceagent::tools {

namespace {

// Also where it was computed, and is 2.0.
std::optional<std::int64_t> rank_from(std::string_view json) {
  constexpr std::int64_t thousand = 1000;
  const std::optional<ExactTime> times_thousand = parse_microseconds(json);
  if (!times_thousand || times_thousand->ps != 0 || times_thousand->ns % thousand != 0) {
    return std::nullopt;
  }
  const std::int64_t rank = times_thousand->ns / thousand;
  return rank >= 0 && rank < trace::pids_of_claim ? std::optional(rank) : std::nullopt;
}

}  // namespace

std::string on_one_line(std::string_view json) {
  std::string line;
  while (!json.empty()) {
    const std::size_t end = std::min(json.find('\n'), json.size());
    line.append(json.substr(0, end));
    json.remove_prefix(end);
    while (!json.empty() && is_json_space(json.front())) json.remove_prefix(1);
  }
  return trace::is_whole_value(line) ? line : std::string();
}

void FileFacts::add_member(std::string_view key, std::string_view value) {
  std::string line = on_one_line(value);
  if (key == "complete") is_complete_ = line == "true";
  if (key == "traceName" && line.starts_with('"')) own_name_ = line.substr(1, line.size() - 2);
  if (is_own() && add_own_member(key, line)) return;
  if (key == "distributedInfo") {
    add_distributed_info(std::move(line));
  } else if (key == "deviceProperties" && line.starts_with('[')) {
    device_properties_ = std::move(line);
    if (!is_own()) kind_ = ForeignKind::kineto;
  } else if (key == "baseTimeNanoseconds") {
    if (const auto base_ns = parse_nanoseconds(line)) base_ns_ = base_ns;
  } else {
    // Composer adds it to PyTorch's files.
    if (key == "global_rank" && !rank_) rank_ = rank_from(line);
    if (key == "host_name" && line.starts_with('"')) {
      host_ = trace::unescaped(std::string_view(line).substr(1, line.size() - 2));
    }
    if (key == "schemaVersion" && kind_ == ForeignKind::chrome) kind_ = ForeignKind::kineto;
    if (key == "metadata" && !is_own() && line.find("highres-ticks") != std::string::npos) {
      kind_ = ForeignKind::tensorflow;
    }
    keep(key,
         line.empty() ? trace::JsonValue(std::to_string(value.size()) + " bytes").text() : line);
  }
}

// PyTorch's has neither a key of the run nor more ranks than one.
void FileFacts::add_distributed_info(std::string info) {
  const auto rank = rank_from(trace::member(info, "rank").value_or(""));
  rank_ = rank ? rank : rank_;
  kind_ = ForeignKind::kineto;
  const auto ranks = trace::member(info, "ranks");
  // Too long for DocumentScan.
  const auto groups = trace::member(info, "pg_config");
  if (groups && groups->starts_with('"')) keep("pg_config", std::string(*groups));
  if (rank && (ranks || trace::member(info, "run_key"))) {
    kind_ = ForeignKind::traceagent;
    has_lost_own_ = has_lost_own_ || (ranks && !ranks->starts_with('['));
    own_ranks_ = {*rank};
    trace::for_each_element(ranks.value_or(""), [this](std::string_view element) {
      if (const auto each = rank_from(element)) own_ranks_.insert(*each);
    });
  }
  distributed_info_ = std::move(info);
}

bool FileFacts::add_own_member(std::string_view key, std::string& value) {
  std::string* const kept = key == "sources"      ? &sources_
                            : key == "traceagent" ? &own_metadata_
                            : key == "selections" ? &selections_
                                                  : nullptr;
  if (kept == nullptr) return false;
  has_lost_own_ = has_lost_own_ || value.empty();
  *kept = std::move(value);
  return true;
}

void FileFacts::keep(std::string_view key, const std::string& value) {
  const bool fits = kept_bytes_ + key.size() + value.size() < most_kept_bytes;
  const std::string size = "\"left out: " + std::to_string(value.size()) + " bytes\"";
  if (fits || kept_bytes_ + key.size() + size.size() < most_kept_bytes) {
    members_.add(key, trace::JsonValue::raw(fits ? value : size));
    kept_bytes_ += key.size() + (fits ? value : size).size();
  }
}

void FileFacts::add_event(const ScannedObject& event) {
  std::string_view phase;
  std::string_view name;
  std::string_view args;
  std::string_view ts;
  for (const JsonMember& member : event.members) {
    if (member.key == "ph") phase = member.value;
    if (member.key == "name") name = member.value;
    if (member.key == "args") args = member.value;
    if (member.key == "ts") ts = member.value;
  }
  if (phase != "\"M\"") return first_events_.add(phase, name, ts);
  if (name.size() > 2) add_metadata(name.substr(1, name.size() - 2), args);
}

void FileFacts::add_metadata(std::string_view name, std::string_view args) {
  if (is_own()) return;  // of what was imported into it
  const auto value = trace::member(args, "value");
  if (name == "global_rank" && value) {
    kind_ = ForeignKind::composer;
    const auto rank = rank_from(*value);
    // Of a merged file the lowest.
    if (rank) rank_ = rank_ ? std::min(*rank_, *rank) : *rank;
  }
  const auto start = trace::member(args, "start_time_since_epoch_in_micros");
  if (start) {
    kind_ = ForeignKind::sagemaker;
    const std::optional<ExactTime> time = parse_microseconds(*start);
    if (time && !base_ns_) base_ns_ = time->rounded_ns();
  }
}

}  // namespace traceagent::tools
