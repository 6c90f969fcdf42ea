#include "tools/selection/event_selection.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_text.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/paired_events.hpp"

namespace traceagent::tools {

namespace {

constexpr std::array<const char*, 5> names_of_verdicts{"", "time", "category", "unpaired", "rank"};

class RuledEvents : public trace::EventFilter {
 public:
  RuledEvents(const EventRules& rules, SelectionCounts& counts, Verdicts verdicts)
      : rules_(rules), counts_(counts), verdicts_(std::move(verdicts)) {}

  bool keeps(trace::TraceLine& line, std::int64_t& absolute_ns) override {
    const EventFields fields = fields_of(line.after_ts);
    const Verdict verdict = judge(fields, absolute_ns);
    counts_.count(verdict);
    if (verdict != Verdict::keep) {
      return false;
    }
    if (rules_.clip) {
      clip(fields, line, absolute_ns);
    }
    return true;
  }

  [[nodiscard]] std::size_t memory_bytes() const override {
    return verdicts_.memory_bytes() + clipped_.capacity();
  }

 private:
  Verdict judge(const EventFields& fields, std::int64_t ns) {
    if (!rules_.has_rank(trace::rank_of_pid(fields.pid))) {
      return Verdict::rank;
    }
    const std::int64_t end_ns = ns + std::max<std::int64_t>(fields.dur_ns, 0);
    counts_.see(ns, end_ns);
    if (!rules_.looks_into_ranks()) {
      return Verdict::keep;
    }
    if (PairedEvents::is_one(fields.phase, ns, rules_)) {
      return verdicts_.at(next_++);
    }
    if (!rules_.has_category(fields.category)) {
      return Verdict::category;
    }
    return rules_.window.overlaps(ns, end_ns) ? Verdict::keep : Verdict::time;
  }

  void clip(const EventFields& fields, trace::TraceLine& line, std::int64_t& ns) {
    const std::int64_t begin_ns = rules_.window.clamped(ns);
    const bool is_slice = fields.phase == 'X' && fields.dur_ns > 0;
    const std::int64_t end_ns = rules_.window.clamped(ns + (is_slice ? fields.dur_ns : 0));
    const bool is_shorter = is_slice && end_ns - begin_ns != fields.dur_ns;
    counts_.clipped += is_shorter || begin_ns != ns ? 1 : 0;
    if (is_shorter) {
      set_duration(line, fields.dur_text, end_ns - begin_ns);
    }
    ns = begin_ns;
  }

  void set_duration(trace::TraceLine& line, std::string_view dur_text, std::int64_t dur_ns) {
    char number[trace::max_microsecond_chars];
    const char* const number_end = trace::put_microseconds(number, dur_ns);
    const auto at = static_cast<std::size_t>(dur_text.data() - line.text.data());
    const std::size_t after_ts = line.text.size() - line.after_ts.size();
    clipped_.assign(line.text.substr(0, at));
    clipped_.append(static_cast<const char*>(number), number_end);
    clipped_.append(line.text.substr(at + dur_text.size()));
    line.text = clipped_;
    line.after_ts = line.text.substr(after_ts);
  }

  const EventRules& rules_;
  SelectionCounts& counts_;
  const Verdicts verdicts_;
  std::size_t next_ = 0;
  std::string clipped_;
};

// The first reading.
Verdicts verdicts_of(const trace::MergeInput& input, const EventRules& rules,
                     const std::function<void(std::uint64_t)>& on_read) {
  constexpr std::uint64_t events_between_reports = 1U << 16;
  PairedEvents pairs(rules);
  trace::TraceReader reader;
  if (!reader.open(input.report.path)) {
    return {};  // the second reading says why
  }
  std::uint64_t events = 0;
  std::uint64_t told_bytes = 0;
  const auto tell = [&] {
    if (on_read) {
      on_read(reader.file_bytes_read() - told_bytes);
      told_bytes = reader.file_bytes_read();
    }
  };
  trace::TraceLine line;
  while ((line = reader.next()).kind != trace::TraceLine::Kind::end) {
    if (line.kind == trace::TraceLine::Kind::event) {
      const EventFields fields = fields_of(line.after_ts);
      if (rules.has_rank(trace::rank_of_pid(fields.pid))) {
        pairs.read(fields, input.absolute_ns(line.ts_ns));
      }
    }
    if (++events % events_between_reports == 0) {
      tell();
    }
  }
  tell();
  return pairs.finish();
}

bool has_other_ranks(const trace::MergeInput& input, const EventRules& rules) {
  const auto listed = trace::member(input.header.distributed_info, "ranks");
  bool found = false;
  trace::for_each_element(listed.value_or(""), [&](std::string_view rank) {
    found = found || !rules.has_rank(trace::parse_integer(rank).value_or(0));
  });
  return found;
}

}  // namespace

void SelectionCounts::see(std::int64_t from_ns, std::int64_t to_ns) {
  begin_ns = std::min(begin_ns, from_ns);
  end_ns = std::max(end_ns, to_ns);
}

std::uint64_t SelectionCounts::left_out() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i < events.size(); ++i) {
    sum += events[i];
  }
  return sum;
}

EventSelection::EventSelection(EventRules rules, trace::JsonObject asked,
                               std::function<void(std::uint64_t)> on_read)
    : rules_(std::move(rules)), asked_(std::move(asked)), on_read_(std::move(on_read)) {}

std::unique_ptr<trace::EventFilter> EventSelection::filter_of(const trace::MergeInput& input) {
  if (rules_.looks_into_ranks()) {
    return std::make_unique<RuledEvents>(rules_, counts_, verdicts_of(input, rules_, on_read_));
  }
  // Arrows and slices are within a rank: none loses one of its ends.
  return has_other_ranks(input, rules_) ? std::make_unique<RuledEvents>(rules_, counts_, Verdicts())
                                        : nullptr;
}

trace::JsonObject EventSelection::description() const {
  trace::JsonObject object;
  if (!rules_.window.is_everything()) {
    object.add_all(asked_);
    object.add("begin_ns", rules_.window.begin_ns).add("end_ns", rules_.window.end_ns);
    object.add("clip", rules_.clip);
  }
  if (!rules_.categories.empty()) {
    trace::JsonArray categories;
    for (const std::string& category : rules_.categories) {
      categories.add(trace::JsonValue::raw("\"" + category + "\""));
    }
    object.add("categories", categories);
  }
  return object;
}

trace::JsonObject EventSelection::left_out() const {
  trace::JsonObject object;
  for (std::size_t i = 1; i < counts_.events.size(); ++i) {
    if (counts_.events[i] > 0) {
      object.add(names_of_verdicts[i], counts_.events[i]);
    }
  }
  if (counts_.clipped > 0) {
    object.add("clipped", counts_.clipped);
  }
  return object;
}

std::string in_words(const SelectionCounts& counts) {
  std::string words;
  for (std::size_t i = 1; i < counts.events.size(); ++i) {
    if (counts.events[i] > 0) {
      words += (words.empty() ? "" : ", ") + std::string(names_of_verdicts[i]) + " " +
               std::to_string(counts.events[i]);
    }
  }
  return words;
}

}  // namespace traceagent::tools
