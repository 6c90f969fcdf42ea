#include "tools/import/mark_batches.hpp"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "agent/trace/json_scan.hpp"
#include "tools/import/exact_time.hpp"

namespace traceagent::tools {

namespace {

constexpr std::size_t most_marks = 4096;

std::string in_words(std::int64_t epoch, std::int64_t batch) {
  return "[" + std::to_string(epoch) + ", " + std::to_string(batch) + "]";
}

std::string batch_of_event(std::string_view event) {
  const auto args = trace::member(event, "args");
  const auto epoch = args ? trace::integer_member(*args, "epoch") : std::nullopt;
  const auto batch = epoch ? trace::integer_member(*args, "batch") : std::nullopt;
  return batch ? in_words(*epoch, *batch) : "";
}

}  // namespace

void MarkBatches::add_mark(std::string_view pid, const std::string* line) {
  const std::string_view args = trace::member(*line, "args").value_or("");
  const auto time = parse_microseconds(trace::member(args, "value").value_or(""));
  if (!time || count_ >= most_marks) return;
  const bool is_open = !trace::member(args, "batch");
  const Mark mark{line, is_open};
  if (!marks_[std::string(pid)].emplace(time->rounded_ns(), mark).second) return;
  ++count_;
  open_ += is_open ? 1 : 0;
}

void MarkBatches::add_event(std::string_view pid, std::string_view ts, std::string_view event) {
  const auto marks = marks_.find(pid);
  const auto time = marks == marks_.end() ? std::nullopt : parse_microseconds(ts);
  if (!time) return;
  const auto behind = marks->second.upper_bound(time->rounded_ns());
  if (behind == marks->second.begin()) return;
  Mark& mark = std::prev(behind)->second;
  std::string batch = mark.is_open ? batch_of_event(event) : "";
  if (batch.empty()) return;
  batches_[mark.line] = std::move(batch);
  mark.is_open = false;
  --open_;
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
