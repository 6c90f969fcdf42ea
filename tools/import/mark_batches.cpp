#include "tools/import/mark_batches.hpp"

#include <optional>

#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

namespace {

// A cycle may begin with events that do not say it (counters); a file may be none of Composer's at
// all.
constexpr std::uint64_t most_events = 1U << 12;
constexpr std::size_t most_open = 64;

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

// One that the next of its process follows has no events.
void MarkBatches::add_mark(std::string_view pid, const std::string* line) {
  std::erase_if(open_, [pid](const Open& mark) { return mark.pid == pid; });
  const auto args = trace::member(*line, "args");
  if (args && batch_of_mark(*args).empty() && open_.size() < most_open) {
    open_.push_back({std::string(pid), line, most_events});
  }
}

void MarkBatches::add_event(std::string_view pid, std::string_view event) {
  std::erase_if(open_, [&](Open& mark) {
    if (mark.pid == pid) {
      std::string batch = batch_of_event(event);
      if (!batch.empty()) {
        batches_[mark.line] = std::move(batch);
        return true;
      }
    }
    return --mark.events_left == 0;
  });
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
