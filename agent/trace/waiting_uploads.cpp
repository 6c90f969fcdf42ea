#include "agent/trace/waiting_uploads.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/line_reader.hpp"

namespace traceagent::trace {
namespace {

// By when each was queued.
class Waiting {
 public:
  void take(std::string_view line) {
    if (!line.ends_with('}')) return;  // half a record
    if (const auto id = first_value(line, "{\"queue\":"); !id.empty()) {
      const auto [at, is_new] = order_of_.try_emplace(std::string(id), queued_);
      if (!is_new) return;
      files_[queued_++] = {std::string(id), std::string(string_member(line, "file").value_or(""))};
    }
    for (const std::string_view over : {"{\"done\":", "{\"gone\":"}) {
      const auto at = order_of_.find(first_value(line, over));
      if (at != order_of_.end()) files_.erase(at->second);
    }
  }

  std::vector<WaitingUpload> latest() {
    std::set<std::string> seen;
    std::vector<WaitingUpload> latest;
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
      if (seen.insert(file->second.file).second) latest.push_back(std::move(file->second));
    }
    std::reverse(latest.begin(), latest.end());
    return latest;
  }

 private:
  static std::string_view first_value(std::string_view line, std::string_view head) {
    if (!line.starts_with(head)) return {};
    line.remove_prefix(std::min(line.find('"', head.size()), line.size() - 1) + 1);
    return line.substr(0, line.find('"'));
  }

  std::size_t queued_ = 0;
  std::map<std::string, std::size_t, std::less<>> order_of_;
  std::map<std::size_t, WaitingUpload> files_;
};

}  // namespace

std::vector<WaitingUpload> waiting_uploads(const std::string& journal) {
  // The folder may be another user's: a pipe there would hold the job.
  struct stat facts {};
  if (lstat(journal.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  Waiting waiting;
  LineReader lines;
  if (!lines.open(journal)) return {};
  std::string_view line;
  while (lines.next(line) == LineReader::Status::line) waiting.take(line);
  return waiting.latest();
}

std::size_t pending_uploads(const std::string& journal) { return waiting_uploads(journal).size(); }

}  // namespace traceagent::trace
