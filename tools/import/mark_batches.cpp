#include "tools/import/mark_batches.hpp"

#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "agent/trace/json_scan.hpp"
#include "tools/import/exact_time.hpp"

namespace traceagent::tools {

namespace {

// As many as are used (clocks/clock_marks.cpp).
constexpr std::size_t most_marks = 20'000;

// Events of a mark in which a batch is looked for: a program of others' may have marks alone.
constexpr std::uint32_t most_searched = 100'000;

std::string in_words(std::int64_t epoch, std::int64_t batch) {
  return "[" + std::to_string(epoch) + ", " + std::to_string(batch) + "]";
}

std::string batch_of_event(const trace::JsonMembers& members) {
  std::string_view args;
  for (const JsonMember member : members) {
    if (member.key == "args") args = member.value;
  }
  const auto epoch = trace::integer_member(args, "epoch");
  const auto batch = epoch ? trace::integer_member(args, "batch") : std::nullopt;
  return batch ? in_words(*epoch, *batch) : "";
}

}  // namespace

void MarkBatches::add_mark(std::string_view pid, const std::string* line) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  const std::string_view args = trace::member(*line, "args").value_or("");
  const auto time = parse_microseconds(trace::member(args, "value").value_or(""));
  if (!time || count_ >= most_marks) return;
  const Mark mark{line, trace::member(args, "batch") ? never : for_ever};
  if (!marks_[std::string(pid)].emplace(time->rounded_ns(), mark).second) return;
  ++count_;
  latest_pid_.clear();
  latest_until_ns_ = latest_from_ns_;
}

void MarkBatches::find_mark(std::string_view pid, std::int64_t at_ns) {
  latest_pid_ = pid;
  latest_ = nullptr;
  latest_from_ns_ = std::numeric_limits<std::int64_t>::min();
  latest_until_ns_ = std::numeric_limits<std::int64_t>::max();
  const auto marks = marks_.find(pid);
  if (marks == marks_.end()) return;
  const auto behind = marks->second.upper_bound(at_ns);
  if (behind != marks->second.end()) latest_until_ns_ = behind->first;
  if (behind == marks->second.begin()) return;
  const auto own = std::prev(behind);
  latest_from_ns_ = own->first;
  latest_ = &own->second;
}

void MarkBatches::add_event(std::string_view pid, std::int64_t at_ns,
                            const trace::JsonMembers& members) {
  const bool is_of_latest =
      at_ns >= latest_from_ns_ && at_ns < latest_until_ns_ && pid == latest_pid_;
  if (!is_of_latest) find_mark(pid, at_ns);
  if (latest_ == nullptr || at_ns >= latest_->until_ns || latest_->searched >= most_searched) {
    return;
  }
  std::string batch = batch_of_event(members);
  if (batch.empty()) {
    ++latest_->searched;
    return;
  }
  batches_[latest_->line] = std::move(batch);
  latest_->until_ns = at_ns;
}

std::string MarkBatches::told(const std::string* line) const {
  std::string text = *line;
  const auto batch = batches_.find(line);
  const auto args = batch == batches_.end() ? std::nullopt : trace::member(*line, "args");
  if (args && args->starts_with('{')) {
    const auto at = static_cast<std::size_t>(args->data() - line->data()) + 1;
    text.insert(at, "\"batch\": " + batch->second + ", ");
  }
  return text;
}

std::string batch_of_mark(std::string_view args) {
  std::vector<std::int64_t> numbers;
  trace::for_each_element(trace::member(args, "batch").value_or(""),
                          [&numbers](std::string_view number) {
                            if (const auto value = trace::parse_integer(number))
                              numbers.push_back(*value);
                          });
  return numbers.size() == 2 ? in_words(numbers[0], numbers[1]) : "";
}

}  // namespace traceagent::tools
