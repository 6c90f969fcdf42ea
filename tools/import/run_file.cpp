#include "tools/import/run_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::tools {

namespace {

constexpr std::ptrdiff_t most_runs = 16;

constexpr std::string_view events_begin = ",\n\"traceEvents\": [\n";
constexpr std::string_view events_end = "],\n\"complete\": true\n}\n";

std::string header_of(const RunFile& file) {
  trace::JsonObject info;
  info.add("rank", file.ranks.front());
  // Thousands of ranks in one file have no room here; then --rank takes all of it or nothing.
  constexpr std::size_t most_ranks = 4096;
  if (file.ranks.size() > 1 && file.ranks.size() <= most_ranks) info.add("ranks", file.ranks);
  info.add("content", file.content).add_all(file.identity);
  if (!file.older_states.empty())
    info.add("older_states", trace::JsonValue::raw(file.older_states));
  if (!file.quiet_ns.empty()) info.add("quiet_ns", file.quiet_ns);
  if (!file.host.empty()) info.add("host", file.host);
  if (!file.corrections.empty()) {
    info.add("clock_corrections", trace::JsonValue::raw(file.corrections));
  }
  if (!file.clock.empty()) info.add("clock", trace::JsonValue::raw(file.clock));
  std::string text = "{\n\"schemaVersion\": 1,\n\"distributedInfo\": " + info.text();
  text += ",\n\"baseTimeNanoseconds\": " + trace::JsonValue(file.base_ns).text();
  text += ",\n\"traceName\": " + trace::JsonValue(file.name).text();
  return text;
}

std::string padded(std::string header) {
  header += ",\n\"padding\": \"";
  header.append(RunFile::head_bytes - events_begin.size() - 1 - header.size(), ' ');
  return header.append("\"").append(events_begin);
}

int write_at(int descriptor, std::string_view text, off_t offset) {
  trace::FileSizeLimitGuard guard;
  while (!text.empty()) {
    const ssize_t done = ::pwrite(descriptor, text.data(), text.size(), offset);
    if (done < 0 && errno == EFBIG) guard.limit_reached();
    if (done < 0 && errno != EINTR) return errno;
    if (done > 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
      offset += done;
    }
  }
  return 0;
}

}  // namespace

int RunFile::complete() const {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return errno;
  int error = write_at(descriptor, padded(header_of(*this)), 0);
  if (error == 0) {
    error = write_at(descriptor, "\n" + std::string(events_end), ::lseek(descriptor, 0, SEEK_END));
  }
  ::close(descriptor);
  return error;
}

int RunFile::write_without_events() const {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return errno;
  std::string text = header_of(*this);
  text.append(events_begin).append(events_end);
  const int error = write_at(descriptor, text, 0);
  ::close(descriptor);
  return error;
}

namespace {

// Each most_runs neighbours as one, so that of events of one time the earlier run's stay in front
// (trace::put_in_order()). False: not all could be merged; those stay as they are.
bool merge_neighbours(std::vector<std::string>& paths, const std::string& prefix,
                      const trace::MergeOptions& options) {
  std::vector<std::string> merged;
  auto next = paths.begin();
  bool is_fine = true;
  while (is_fine && next != paths.end()) {
    const auto end = next + std::min<std::ptrdiff_t>(most_runs, paths.end() - next);
    const std::string path = prefix + std::to_string(merged.size());
    is_fine = trace::merge({next, end}, path, options).problem.empty();
    if (!is_fine) break;
    merged.push_back(path);
    for (; next != end; ++next) std::remove(next->c_str());
  }
  merged.insert(merged.end(), next, paths.end());
  paths.swap(merged);
  return is_fine;
}

}  // namespace

std::vector<std::string> merge_runs(std::vector<std::string> paths, const std::string& prefix,
                                    const std::string& name, const std::string& clock) {
  trace::MergeOptions options;
  options.mix_runs = true;
  options.clock = clock;
  options.trace_name = name + "#merged";
  bool is_fine = true;
  for (std::string each = prefix; is_fine && std::ssize(paths) > most_runs; each += "-again") {
    is_fine = merge_neighbours(paths, each, options);
  }
  return paths;
}

}  // namespace traceagent::tools
