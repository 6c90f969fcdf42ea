#include "tools/upload/forget.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "config/remote_target.hpp"
#include "tools/upload/index_notes.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/problems.hpp"

namespace traceagent::tools {

namespace {

bool is_for(const Upload& upload, const config::RemoteTarget& wanted) {
  const auto& words = wanted.words;
  if (!words.empty()) {
    return words.size() <= upload.words.size() &&
           std::equal(words.begin(), words.end(), upload.words.begin());
  }
  if (!upload.words.empty()) return false;
  return upload.target == wanted.place ||
         (wanted.place.ends_with('/') && upload.target.starts_with(wanted.place));
}

void must_be_told(const std::string& problem) {
  if (!problem.empty()) throw std::runtime_error("upload: " + problem);
}

void forget(const std::string& folder, Journal& journal, const Upload& upload) {
  trace::JsonObject gone;
  gone.add("gone", upload.id).add("left_out", true).add("why", "--forget");
  journal.append(gone, true);
  trace::JsonObject left_out;
  left_out.add("left_out", upload.file).add("why", "--forget").add("target", upload.where());
  must_be_told(note_in_index(folder, upload, left_out));
}

}  // namespace

// Without the uploader's lock: one that is at work reads it, as it reads what ranks leave out.
std::set<std::string> forget_uploads(const std::string& folder, const std::string& target,
                                     const Tell& tell) {
  const config::RemoteTarget wanted = config::remote_target(target, {}, "");
  if (!wanted.problem.empty()) {
    throw std::runtime_error("--forget: " + target + ": " + wanted.problem);
  }
  std::set<std::string> ids;
  for (const std::string& path : journals_in(folder)) {
    Journal journal(folder, path);
    std::map<std::string, const Upload*> runs;
    for (const Upload& upload : journal.uploads()) {
      if (!upload.is_pending() || upload.is_replaced || !is_for(upload, wanted)) continue;
      forget(folder, journal, upload);
      runs[upload.run] = &upload;
      tell(upload.file + " -> " + upload.where() + ": left out: the file stays");
      ids.insert(upload.id);
    }
    for (const auto& [run, upload] : runs) must_be_told(join_index(folder, *upload));
  }
  return ids;
}

void forget_problems(const std::string& folder, bool is_any_forgotten) {
  for (const std::string& path : journals_in(folder)) {
    const Journal journal(folder, path);
    const std::string problem_path = path.substr(0, path.rfind('.')) + ".problem";
    const std::size_t unwanted = unwanted_in(journal);
    if (!is_any_forgotten && pending_in(journal) + unwanted != 0) continue;
    Problems problems(problem_path);
    const std::size_t before = problems.size();
    problems.keep(waiting_places(journal));
    if (problems.size() == 0 && (before != 0 || unwanted == 0)) {
      unlink(problem_path.c_str());
    } else if (problems.size() != before) {
      replace_file(problem_path, problems.text(what_waits(journal, folder)));
    }
  }
}

}  // namespace traceagent::tools
