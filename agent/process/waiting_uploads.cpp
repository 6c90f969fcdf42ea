#include "agent/process/waiting_uploads.hpp"

#include <algorithm>
#include <utility>

#include "agent/trace/json_scan.hpp"

namespace traceagent::process {
namespace {

constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

std::string text_of(std::string_view line, std::string_view key) {
  return std::string(trace::string_member(line, key).value_or(""));
}

}  // namespace

WaitingUploads::WaitingUploads(const std::string& journal) : reader_(journal, most_line_bytes) {}

bool WaitingUploads::read() {
  return reader_.read([this](std::string_view line) { take(line); },
                      [this] {
                        waiting_.clear();
                        place_of_id_.clear();
                        over_.clear();
                      });
}

std::size_t WaitingUploads::of_run(std::string_view run_key) const {
  return static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(),
      [&](const auto& each) { return trace::unescaped(each.second.run) == run_key; }));
}

bool WaitingUploads::has_commands() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const auto& each) { return each.second.is_command; });
}

void WaitingUploads::take(std::string_view line) {
  if (!line.ends_with('}')) return;  // half a record
  if (line.starts_with("{\"queue\":")) {
    take_queued(text_of(line, "queue"), line);
    return;
  }
  for (const std::string_view over : {"done", "gone"}) {
    const std::string begin = "{\"" + std::string(over) + '"';
    if (line.starts_with(begin)) forget(text_of(line, over));
  }
}

void WaitingUploads::take_queued(std::string id, std::string_view line) {
  if (place_of_id_.count(id) != 0 || over_.count(id) != 0) return;
  const auto words = trace::member(line, "words");
  std::string place = text_of(line, "file");
  if (text_of(line, "kind") != "rank") {
    place += '\n' + text_of(line, "target") + std::string(words.value_or(""));
  }
  Waiting& waiting = waiting_[place];
  if (!waiting.id.empty()) place_of_id_.erase(waiting.id);
  waiting = {id, text_of(line, "run"), words.has_value()};
  place_of_id_.emplace(std::move(id), std::move(place));
}

void WaitingUploads::forget(const std::string& id) {
  over_.insert(id);
  const auto at = place_of_id_.find(id);
  if (at == place_of_id_.end()) return;
  waiting_.erase(at->second);
  place_of_id_.erase(at);
}

}  // namespace traceagent::process
