#include "tools/import/run_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::tools {

namespace {

constexpr std::size_t most_runs = 16;

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

std::vector<std::string> merge_runs(std::vector<std::string> paths, const std::string& prefix,
                                    const std::string& name, const std::string& clock) {
  for (std::size_t number = 0; paths.size() > most_runs; ++number) {
    const std::vector<std::string> some(paths.begin(), paths.begin() + most_runs);
    const std::string merged = prefix + std::to_string(number);
    trace::MergeOptions options;
    options.mix_runs = true;
    options.clock = clock;
    options.trace_name = name + "#merged" + std::to_string(number + 1);
    const trace::MergeReport report = trace::merge(some, merged, options);
    if (!report.problem.empty()) break;
    for (const std::string& path : some) std::remove(path.c_str());
    paths.erase(paths.begin(), paths.begin() + most_runs);
    paths.push_back(merged);
  }
  return paths;
}

}  // namespace traceagent::tools
