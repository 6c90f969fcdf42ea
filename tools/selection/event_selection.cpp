#include "tools/selection/event_selection.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "agent/trace/json_text.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/first_reading.hpp"
#include "tools/selection/paired_events.hpp"

namespace traceagent::tools {

namespace {

constexpr std::array<const char*, 5> names_of_verdicts{"", "time", "category", "unpaired", "rank"};

class RuledEvents : public trace::EventFilter {
 public:
  RuledEvents(const EventRules& rules, SelectionCounts& counts, JudgedInput judged)
      : rules_(rules), counts_(counts), judged_(std::move(judged)) {}

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
    return judged_.memory_bytes() + clipped_.capacity();
  }

 private:
  Verdict judge(const EventFields& fields, std::int64_t ns) {
    if (!rules_.has_rank(trace::rank_of_pid(fields.pid))) {
      return Verdict::rank;
    }
    const std::int64_t end_ns = end_of(ns, fields.dur_ns);
    counts_.see(ns, fields.dur_ns < endless_ns ? end_ns : ns);
    if (!rules_.looks_into_ranks()) {
      return Verdict::keep;
    }
    if (!rules_.categories.empty()) {
      counts_.categories.add(fields.category);
    }
    if (PairedEvents::is_one(fields.phase, ns, rules_)) {
      return judged_.verdicts->at(next_++, judged_.index);
    }
    if (!rules_.has_category(fields.category)) {
      return Verdict::category;
    }
    return rules_.window.overlaps(ns, end_ns) ? Verdict::keep : Verdict::time;
  }

  void clip(const EventFields& fields, trace::TraceLine& line, std::int64_t& ns) {
    const std::int64_t begin_ns = rules_.window.clamped(ns);
    const bool is_slice = fields.phase == 'X' && fields.dur_ns > 0;
    const std::int64_t end_ns = rules_.window.clamped(end_of(ns, is_slice ? fields.dur_ns : 0));
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
  const JudgedInput judged_;
  std::size_t next_ = 0;
  std::string clipped_;
};

bool has_other_ranks(const trace::MergeInput& input, const EventRules& rules) {
  const auto ranks = trace::ranks_of(input.header);
  return !std::all_of(ranks.begin(), ranks.end(), [&](auto rank) { return rules.has_rank(rank); });
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
    return std::make_unique<RuledEvents>(rules_, counts_, judged(input));
  }
  // Arrows and slices are within a rank: none loses one of its ends.
  return has_other_ranks(input, rules_)
             ? std::make_unique<RuledEvents>(rules_, counts_, JudgedInput())
             : nullptr;
}

JudgedInput EventSelection::judged(const trace::MergeInput& input) {
  if (rules_.clip && !has_carried_) judge_all_before_window();
  if (!judged_.contains(input.report.path)) judge(input);
  const auto known = judged_.find(input.report.path);
  JudgedInput found = std::move(known->second);
  judged_.erase(known);
  return found;
}

// With those that it makes a chain with, of which each finds its verdicts when its turn comes.
void EventSelection::judge(const trace::MergeInput& input) {
  if (!chains_) chains_.emplace(*inputs_);
  const std::vector<const trace::MergeInput*> inputs = chains_->with(input);
  FirstReading reading = first_reading(inputs, rules_, on_read_);
  const auto verdicts = std::make_shared<Verdicts>(std::move(reading.verdicts));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    judged_.insert_or_assign(inputs[i]->report.path, JudgedInput{verdicts, i});
  }
  carry(verdicts, reading.carried);
}

// A counter goes on from one file of a rank to the next: which has its last value before the window
// is known when all were read that begin before it.
void EventSelection::judge_all_before_window() {
  has_carried_ = true;
  for (const trace::MergeInput& input : *inputs_) {
    const bool is_before = input.is_used() && input.first_ns < rules_.window.begin_ns;
    if (is_before && !judged_.contains(input.report.path)) judge(input);
  }
  carried_.clear();
}

void EventSelection::carry(const std::shared_ptr<Verdicts>& verdicts,
                           const PairedEvents::CarriedCounters& counters) {
  for (const auto& [counter, last] : counters) {
    const Carried here{verdicts, last};
    const auto known = carried_.find(counter);
    if (known == carried_.end()) {
      if (carried_.size() < PairedEvents::most_counters) carried_.emplace(counter, here);
      continue;
    }
    const bool is_later = here.last.ns >= known->second.last.ns;
    const Carried& earlier = is_later ? known->second : here;
    earlier.verdicts->set(earlier.last.place, Verdict::time);
    if (is_later) known->second = here;
  }
}

namespace {

// null: no bound; both where no step was found.
trace::JsonValue bound_in_json(std::int64_t ns) {
  using Limits = std::numeric_limits<std::int64_t>;
  return ns == Limits::min() || ns == Limits::max() ? trace::JsonValue(nullptr)
                                                    : trace::JsonValue(ns);
}

}  // namespace

trace::JsonObject EventSelection::description() const {
  trace::JsonObject object;
  if (!rules_.window.is_everything()) {
    object.add_all(asked_);
    object.add("begin_ns", bound_in_json(rules_.window.begin_ns));
    object.add("end_ns", bound_in_json(rules_.window.end_ns));
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
