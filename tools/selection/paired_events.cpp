#include "tools/selection/paired_events.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <unordered_set>
#include <utility>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"

namespace traceagent::tools {

namespace {

constexpr std::size_t most_points_of_a_time = 4096;

// FNV-1a; a zero byte between the texts.
std::uint64_t hash_of(std::initializer_list<std::string_view> texts, std::int64_t number) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ static_cast<std::uint64_t>(number);
  for (const std::string_view text : texts) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    hash *= 0x100000001b3U;
  }
  return hash;
}

bool is_arrow(char phase) { return phase == 's' || phase == 't' || phase == 'f'; }
bool is_async(char phase) { return phase == 'b' || phase == 'e' || phase == 'S' || phase == 'F'; }

// Ids of "id2": {"local": ...} are of a process, all others of a rank: its processes share them, as
// they do in Catapult's viewer.
std::uint64_t async_key(const EventFields& fields) {
  const bool is_old = fields.phase == 'S' || fields.phase == 'F';
  const bool is_local = fields.id.starts_with('{') && trace::member(fields.id, "local");
  const std::int64_t owner = is_local ? fields.pid : trace::rank_of_pid(fields.pid);
  return hash_of({fields.category, fields.id, fields.scope, is_old ? fields.name : ""}, owner);
}

}  // namespace

bool PairedEvents::is_one(char phase, std::int64_t ns, const EventRules& rules) {
  return phase == 'B' || phase == 'E' || is_arrow(phase) || is_async(phase) ||
         (phase == 'C' && rules.clip && ns < rules.window.begin_ns);
}

Verdict PairedEvents::category_verdict(const EventFields& fields) const {
  return rules_.has_category(fields.category) ? Verdict::keep : Verdict::category;
}

Verdict PairedEvents::span_verdict(Verdict category, std::int64_t from_ns,
                                   std::int64_t to_ns) const {
  const bool is_dropped = category != Verdict::keep;
  return is_dropped || rules_.window.overlaps(from_ns, to_ns) ? category : Verdict::time;
}

void PairedEvents::read(const EventFields& fields, std::int64_t ns, std::size_t input) {
  input_ = input;
  if (ns != points_ns_ || points_.size() == most_points_of_a_time) {
    judge_points();
    points_ns_ = ns;
  }
  switch (fields.phase) {
    case 'X':
    case 'B':
      return read_slice(fields, ns);
    case 'E':
      return read_end(fields, ns);
    case 's':
    case 't':
    case 'f':
      return read_point(fields, ns);
    case 'C':
      if (is_one('C', ns, rules_)) {
        const std::size_t index =
            add(category_verdict(fields) == Verdict::keep ? Verdict::time : Verdict::category);
        if (category_verdict(fields) == Verdict::keep) {
          carry(hash_of({fields.name, fields.id}, fields.pid), {ns, index});
        }
      }
      return;
    default:
      if (is_async(fields.phase)) {
        read_async(fields, ns);
      }
  }
}

// Of more there are than fit into memory, those that came first are carried into the window.
void PairedEvents::carry(std::uint64_t counter, const Carried& last) {
  const auto found = counters_.find(counter);
  if (found != counters_.end()) {
    found->second = last;
  } else if (counters_.size() < most_counters) {
    counters_.emplace(counter, last);
  }
}

void PairedEvents::read_slice(const EventFields& fields, std::int64_t ns) {
  OpenSlices::Slice slice;
  slice.begin_ns = ns;
  slice.verdict = category_verdict(fields);
  if (fields.phase == 'B') {
    slice.end_ns = std::numeric_limits<std::int64_t>::max();
    slice.index = add(Verdict::unpaired);
  } else {
    slice.end_ns = end_of(ns, fields.dur_ns);
    slice.verdict = span_verdict(slice.verdict, ns, slice.end_ns);
  }
  slices_.open({fields.pid, fields.tid}, slice, [this](const OpenSlices::Slice& given_up) {
    leave_unended(given_up.index, given_up.verdict, given_up.begin_ns);
  });
}

void PairedEvents::read_end(const EventFields& fields, std::int64_t ns) {
  // Points of this time may stand at the slice that ends.
  for (Point& point : points_) {
    if (point.lane == OpenSlices::Lane(fields.pid, fields.tid)) {
      settle(point);
    }
  }
  const std::size_t index = add(Verdict::unpaired);
  OpenSlices::Slice slice;
  if (slices_.close({fields.pid, fields.tid}, slice)) {
    const Verdict verdict = span_verdict(slice.verdict, slice.begin_ns, ns);
    verdicts_.set(slice.index, verdict);
    verdicts_.set(index, verdict);
  }
}

// It lasts to the end of the trace.
void PairedEvents::leave_unended(std::size_t index, Verdict verdict, std::int64_t from_ns) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  verdicts_.set(index, span_verdict(verdict, from_ns, never));
}

void PairedEvents::begin_async(std::uint64_t key, const Began& began) {
  async_[key].push_back(began);
  ++open_async_;
  oldest_async_.emplace_back(key, began.index);
  while (open_async_ > most_open_async) {
    give_up_oldest();
  }
  if (oldest_async_.size() > 2 * most_open_async) {
    forget_ended();
  }
}

// Nothing is given up if the oldest has ended.
void PairedEvents::give_up_oldest() {
  const auto [key, index] = oldest_async_.front();
  oldest_async_.pop_front();
  const auto found = async_.find(key);
  // Ends take the last that began: if it has none yet, it is the first of its key.
  if (found == async_.end() || found->second.front().index != index) {
    return;
  }
  const Began& given_up = found->second.front();
  leave_unended(index, given_up.verdict, given_up.ns);
  found->second.pop_front();
  --open_async_;
  if (found->second.empty()) {
    async_.erase(found);
  }
}

// At most one in most_open_async beginnings is worth it: so many have ended since.
void PairedEvents::forget_ended() {
  std::unordered_set<std::size_t> open;
  for (const auto& [key, all] : async_) {
    for (const Began& began : all) {
      open.insert(began.index);
    }
  }
  const auto has_ended = [&open](const auto& one) { return !open.contains(one.second); };
  oldest_async_.erase(std::remove_if(oldest_async_.begin(), oldest_async_.end(), has_ended),
                      oldest_async_.end());
}

void PairedEvents::read_async(const EventFields& fields, std::int64_t ns) {
  const std::size_t index = add(Verdict::unpaired);
  if (fields.phase == 'b' || fields.phase == 'S') {
    return begin_async(async_key(fields), {ns, index, category_verdict(fields)});
  }
  EventFields begin = fields;
  begin.phase = fields.phase == 'e' ? 'b' : 'S';
  const auto found = async_.find(async_key(begin));
  if (found == async_.end()) {
    return;
  }
  const Began began = found->second.back();
  found->second.pop_back();
  --open_async_;
  if (found->second.empty()) {
    async_.erase(found);
  }
  const Verdict verdict = span_verdict(began.verdict, began.ns, ns);
  verdicts_.set(began.index, verdict);
  verdicts_.set(index, verdict);
}

void PairedEvents::read_point(const EventFields& fields, std::int64_t ns) {
  Point point{};
  point.phase = fields.phase;
  point.id = hash_of({fields.category, fields.name, fields.id}, 0);
  point.index = add(Verdict::unpaired);
  point.lane = {fields.pid, fields.tid};
  point.is_in_time = rules_.window.overlaps(ns, ns);
  point.own = span_verdict(category_verdict(fields), ns, ns);
  points_.push_back(point);
}

void PairedEvents::settle(Point& point) {
  if (point.is_settled) {
    return;
  }
  const OpenSlices::Slice* const slice = slices_.around(point.lane, points_ns_);
  point.verdict = slice == nullptr ? point.own : slice->verdict;
  const bool is_in_open = slice != nullptr && slice->index != OpenSlices::no_index;
  if (is_in_open && point.verdict == Verdict::keep && !point.is_in_time) {
    point.verdict = Verdict::time;
  }
  point.is_settled = true;
}

void PairedEvents::judge_points() {
  for (Point& point : points_) {
    settle(point);
    if (point.phase == 's') {
      arrows_.start(point.id, point.index, point.verdict);
    } else if (point.phase == 't') {
      arrows_.step(point.id, point.index, point.verdict);
    } else {
      arrows_.end(point.id, point.index, point.verdict);
    }
  }
  points_.clear();
}

Verdicts PairedEvents::finish() {
  judge_points();
  slices_.for_each_unclosed([this](const OpenSlices::Slice& slice) {
    leave_unended(slice.index, slice.verdict, slice.begin_ns);
  });
  for (const auto& [key, all] : async_) {
    for (const Began& began : all) {
      leave_unended(began.index, began.verdict, began.ns);
    }
  }
  for (const auto& [key, last] : counters_) {
    verdicts_.set(last.place, Verdict::keep);
  }
  return std::move(verdicts_);
}

}  // namespace traceagent::tools
