#include "agent/drain/end_of_run.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

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

// A reader of the journal takes lines up to 1 MiB.
constexpr std::size_t most_files_in_record = 1000;

// As they stand in the journal: with their escapes.
using FileNames = std::set<std::string, std::less<>>;

struct Merged {
  std::string run;
  FileNames files;
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
  const event::Folder entries =
      event::open_folder_high(trace::upload_folder(output_folder).c_str());
  if (entries == nullptr) return hosts;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(journal_end)) continue;
    hosts.emplace_back(name.substr(0, name.size() - journal_end.size()));
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

// The folder may be another user's, and a pipe there would hold the job's end.
bool is_own_file(const std::string& path) noexcept {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

// Of the merged files those that wait in this journal.
FileNames files_in(const std::string& journal, const Merged& merged) {
  FileNames found;
  trace::LineReader lines;
  std::string_view line;
  if (!is_own_file(journal) || !lines.open(journal)) return found;
  while (lines.next(line) == trace::LineReader::Status::line) {
    if (!line.starts_with("{\"queue\":") || trace::string_member(line, "run") != merged.run)
      continue;
    const auto file = trace::string_member(line, "file");
    if (file && merged.files.count(*file) != 0) found.emplace(*file);
  }
  return found;
}

trace::JsonObject end_record(const ring::Ring& ring) {
  trace::JsonObject record;
  record.add("ended", ring.name(ring.header().identity.run_key));
  return record;
}

// In as many records as it takes.
std::vector<trace::JsonObject> end_records(const ring::Ring& ring, const FileNames& files) {
  std::vector<trace::JsonObject> records;
  for (auto file = files.begin(); file != files.end();) {
    trace::JsonArray names;
    for (std::size_t i = 0; i < most_files_in_record && file != files.end(); ++i, ++file) {
      names.add(trace::JsonValue::raw("\"" + *file + "\""));
    }
    records.push_back(end_record(ring).add("files", names));
  }
  return records;
}

}  // namespace

bool removes_files(const ring::Ring& ring) {
  const std::string_view options = ring.name(ring.header().identity.options_json);
  return trace::integer_member(options, "output.keep").value_or(-1) >= 0;
}

EndOfRun queue_end_of_run(const ring::Ring& ring, const MergedFiles& files) {
  EndOfRun end;
  if (!uploads_rank_files(ring)) return end;
  const auto append = [&](const std::string& journal, const trace::JsonObject& record) {
    const std::string problem = trace::append_record(journal, record);
    if (!problem.empty()) end.problem = "output.remote: " + problem;
    return problem.empty();
  };
  // True if it names any.
  const auto tell = [&](const std::string& journal, const FileNames& names) {
    const std::vector<trace::JsonObject> records = end_records(ring, names);
    return !records.empty() && std::all_of(records.begin(), records.end(), [&](const auto& record) {
      return append(journal, record);
    });
  };
  const std::string own = upload_journal(ring);
  if (!removes_files(ring)) {
    append(own, end_record(ring));
    return end;
  }
  const FileNames here = files_in(own, merged_files(ring, files.all));
  tell(own, here);
  // Mostly that is all of them. Else each of a thousand nodes would read all the others' journals.
  Merged elsewhere = merged_files(ring, files.elsewhere);
  for (const std::string& file : here) elsewhere.files.erase(file);
  if (elsewhere.files.empty()) return end;
  const std::string folder = output_folder(ring);
  for (const std::string& host : hosts_with_journals(folder)) {
    const std::string journal = trace::journal_path(folder, host);
    if (journal != own && tell(journal, files_in(journal, elsewhere))) end.hosts.push_back(host);
  }
  return end;
}

}  // namespace traceagent::drain
