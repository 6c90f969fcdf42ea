#include "agent/drain/end_of_run.hpp"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "agent/drain/file_names.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/upload_journal.hpp"

namespace traceagent::drain {
namespace {

constexpr std::string_view journal_end = ".journal";

// As they stand in the journal: file names with their escapes.
struct Merged {
  std::string run;
  std::set<std::string, std::less<>> files;
};

std::string escaped(std::string_view text) {
  const std::string json = trace::JsonValue(text).text();
  return json.substr(1, json.size() - 2);
}

Merged merged_files(const ring::Ring& ring, const std::vector<std::string>& files) {
  Merged merged;
  merged.run = escaped(ring.name(ring.header().identity.run_key));
  const std::string prefix = output_folder(ring) + "/";
  for (const std::string& file : files) {
    if (file.starts_with(prefix)) merged.files.insert(escaped(file.substr(prefix.size())));
  }
  return merged;
}

std::vector<std::string> hosts_with_journals(const std::string& output_folder) {
  std::vector<std::string> hosts;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      event::open_folder_high(trace::upload_folder(output_folder).c_str()), &closedir);
  if (entries == nullptr) return hosts;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(journal_end)) continue;
    hosts.emplace_back(name.substr(0, name.size() - journal_end.size()));
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

// Of the merged files those that wait in this journal.
trace::JsonArray files_in(const std::string& journal, const Merged& merged) {
  trace::JsonArray found;
  trace::LineReader lines;
  std::string_view line;
  if (!lines.open(journal)) return found;
  while (lines.next(line) == trace::LineReader::Status::line) {
    if (!line.starts_with("{\"queue\":") || trace::string_member(line, "run") != merged.run)
      continue;
    const auto file = trace::string_member(line, "file");
    if (!file || merged.files.count(*file) == 0) continue;
    found.add(trace::JsonValue::raw("\"" + std::string(*file) + "\""));
  }
  return found;
}

trace::JsonObject end_record(const ring::Ring& ring) {
  trace::JsonObject record;
  record.add("ended", ring.name(ring.header().identity.run_key));
  return record;
}

// output.keep is set. Else nobody waits for the end of a run.
bool removes_uploaded_files(const ring::Ring& ring) {
  const std::string_view options = ring.name(ring.header().identity.options_json);
  return trace::integer_member(options, "output.keep").value_or(-1) >= 0;
}

}  // namespace

EndOfRun queue_end_of_run(const ring::Ring& ring, const std::vector<std::string>& files) {
  EndOfRun end;
  if (!uploads_rank_files(ring)) return end;
  const auto append = [&](const std::string& journal, const trace::JsonObject& record) {
    const std::string problem = trace::append_record(journal, record);
    if (!problem.empty()) end.problem = "output.remote: " + problem;
    return problem.empty();
  };
  const std::string own = upload_journal(ring);
  append(own, end_record(ring));
  if (!removes_uploaded_files(ring)) return end;
  const std::string folder = output_folder(ring);
  const Merged merged = merged_files(ring, files);
  for (const std::string& host : hosts_with_journals(folder)) {
    const std::string journal = trace::journal_path(folder, host);
    if (journal == own) continue;
    const trace::JsonArray named = files_in(journal, merged);
    if (named.empty()) continue;
    if (append(journal, end_record(ring).add("files", named))) end.hosts.push_back(host);
  }
  return end;
}

}  // namespace traceagent::drain
