#include "tools/selection/first_reading.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "agent/trace/process_ids.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/paired_events.hpp"

namespace traceagent::tools {

namespace {

constexpr std::uint64_t events_between_reports = 1U << 16;

using Due = std::pair<std::int64_t, std::size_t>;  // absolute ns, index: as the merge has them

class InputReading {
 public:
  InputReading(const trace::MergeInput& input, std::size_t index)
      : input_(&input), due_(input.first_ns, index) {}

  // When its next event is; before it is opened, its first.
  [[nodiscard]] const Due& due() const { return due_; }

  void judge(PairedEvents& pairs, const EventRules& rules) const {
    if (line_.kind != trace::TraceLine::Kind::event) {
      return;  // it has not been opened
    }
    EventFields fields = fields_of(line_.after_ts);
    if (fields.phase == 'X') {  // as the merge will have it
      fields.dur_ns =
          input_->correction.corrected_duration(input_->own_ns(line_.ts_ns), fields.dur_ns);
    }
    if (rules.has_rank(trace::rank_of_pid(fields.pid))) {
      pairs.read(fields, due_.first, due_.second);
    }
  }

  // The next event; false: there is none. What cannot be read is the second reading's to tell.
  bool next(const std::function<void(std::uint64_t)>& on_read) {
    if (!reader_) {
      reader_ = std::make_unique<trace::TraceReader>();
      if (!reader_->open(input_->report.path)) {
        return false;
      }
    }
    do {
      line_ = reader_->next();
    } while (is_passed_over());
    const bool is_over = line_.kind == trace::TraceLine::Kind::end;
    if (on_read && (is_over || ++events_ % events_between_reports == 0)) {
      on_read(reader_->file_bytes_read() - told_bytes_);
      told_bytes_ = reader_->file_bytes_read();
    }
    if (!is_over) {
      due_.first = last_ns_ = input_->absolute_ns(line_.ts_ns);
    }
    return !is_over;
  }

 private:
  // Events out of order too, as the merge does: the verdicts are told by their places.
  [[nodiscard]] bool is_passed_over() const {
    return line_.kind == trace::TraceLine::Kind::metadata ||
           (line_.kind == trace::TraceLine::Kind::event &&
            input_->absolute_ns(line_.ts_ns) < last_ns_);
  }

  const trace::MergeInput* input_;
  Due due_;
  std::unique_ptr<trace::TraceReader> reader_;
  trace::TraceLine line_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t events_ = 0;
  std::uint64_t told_bytes_ = 0;
};

bool is_due_before(const InputReading& a, const InputReading& b) { return a.due() < b.due(); }

}  // namespace

FirstReading first_reading(const std::vector<const trace::MergeInput*>& inputs,
                           const EventRules& rules,
                           const std::function<void(std::uint64_t)>& on_read) {
  PairedEvents pairs(rules, inputs.size());
  std::vector<InputReading> readings;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    readings.emplace_back(*inputs[i], i);
  }
  while (!readings.empty()) {
    std::iter_swap(std::min_element(readings.begin(), readings.end(), is_due_before),
                   std::prev(readings.end()));
    InputReading& first = readings.back();
    const auto second =
        std::min_element(readings.begin(), std::prev(readings.end()), is_due_before);
    const Due limit = readings.size() > 1 ? second->due()
                                          : Due(std::numeric_limits<std::int64_t>::max(), SIZE_MAX);
    bool is_there = true;
    do {
      first.judge(pairs, rules);
      is_there = first.next(on_read);
    } while (is_there && first.due() <= limit);
    if (!is_there) {
      readings.pop_back();
    }
  }
  Verdicts verdicts = pairs.finish();
  return {std::move(verdicts), pairs.carried()};
}

}  // namespace traceagent::tools
