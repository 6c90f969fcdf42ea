#include "agent/trace/queued_files.hpp"

#include <algorithm>
#include <utility>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {
namespace {

constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

std::string_view first_value(std::string_view line, std::string_view head) {
  if (!line.starts_with(head)) return {};
  line.remove_prefix(std::min(line.find('"', head.size()), line.size() - 1) + 1);
  return line.substr(0, line.find('"'));
}

}  // namespace

QueuedFiles::QueuedFiles(const std::string& journal, std::optional<std::int64_t> process)
    : reader_(journal, most_line_bytes), process_(process) {}

bool QueuedFiles::read() {
  return reader_.read([this](std::string_view line) { take(line); }, [this] { begin_anew(); });
}

const QueuedFile* QueuedFiles::find(const std::string& file) const {
  const auto at = files_.find(file);
  return at == files_.end() ? nullptr : &at->second;
}

void QueuedFiles::take(std::string_view line) {
  if (!line.ends_with('}')) return;  // half a record
  if (const auto id = first_value(line, "{\"queue\":"); !id.empty()) {
    take_queued(id, line);
  } else if (const auto done = first_value(line, "{\"done\":"); !done.empty()) {
    take_uploaded(done, line);
  } else {
    for (const std::string_view over : {"{\"gone\":", "{\"removed\":"}) {
      forget(first_value(line, over));
    }
  }
}

void QueuedFiles::take_queued(std::string_view id, std::string_view line) {
  if (process_ && integer_member(line, "process") != process_) return;
  const std::string key(id);
  if (places_.count(key) != 0 || over_.count(key) != 0) return;
  std::string file = unescaped(string_member(line, "file").value_or(""));
  if (const auto older = files_.find(file); older != files_.end()) {
    forget(std::string(older->second.id));
  }
  files_[file] = {key};
  places_[key] = {std::move(file), integer_member(line, "keep").value_or(-1) >= 0};
  ++waiting_;
}

void QueuedFiles::take_uploaded(std::string_view id, std::string_view line) {
  const auto place = places_.find(std::string(id));
  if (place == places_.end()) return;
  if (!place->second.is_kept) return forget(id);
  QueuedFile& file = files_[place->second.file];
  file.modified_ns = integer_member(line, "modified").value_or(0);
  if (!std::exchange(file.is_uploaded, true)) --waiting_;
}

void QueuedFiles::forget(std::string_view id) {
  const auto place = places_.find(std::string(id));
  if (place == places_.end()) return;
  const auto file = files_.find(place->second.file);
  if (!file->second.is_uploaded) --waiting_;
  files_.erase(file);
  remember_over(place->first);
  places_.erase(place);
}

void QueuedFiles::remember_over(const std::string& id) {
  over_.insert(id);
  over_in_order_.push_back(id);
  if (over_in_order_.size() <= most_over) return;
  over_.erase(over_in_order_.front());
  over_in_order_.pop_front();
}

void QueuedFiles::begin_anew() {
  files_.clear();
  places_.clear();
  over_.clear();
  over_in_order_.clear();
  waiting_ = 0;
}

std::size_t pending_uploads(const std::string& journal) {
  QueuedFiles files(journal);
  files.read();
  return files.waiting();
}

}  // namespace traceagent::trace
