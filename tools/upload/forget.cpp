#include "tools/upload/forget.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "config/command_words.hpp"
#include "config/remote_target.hpp"
#include "tools/upload/index_notes.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/problems.hpp"

namespace traceagent::tools {

namespace {

using Words = std::vector<std::string>;

bool is_waiting(const Upload& upload) { return upload.is_pending() && !upload.is_replaced; }

std::string in_words(const std::set<Words>& commands) {
  std::string list;
  for (const Words& command : commands) {
    std::string target = "exec:";
    for (const std::string& word : command) {
      target += (target.ends_with(':') ? "" : " ") + config::shell_word(word);
    }
    list += (list.empty() ? "" : " or ") + config::shell_word(target);
  }
  return list;
}

// Those that begin so; of one that is given whole, that one.
std::set<Words> commands_waiting(const std::string& folder, const Words& beginning) {
  std::set<Words> commands;
  for (const std::string& path : journals_in(folder)) {
    const Journal journal(folder, path);
    for (const Upload& upload : journal.uploads()) {
      const Words& words = upload.words;
      const bool begins_so = beginning.size() <= words.size() &&
                             std::equal(beginning.begin(), beginning.end(), words.begin());
      if (is_waiting(upload) && begins_so) commands.insert(words);
    }
  }
  return commands.contains(beginning) ? std::set<Words>{beginning} : commands;
}

// A first word is all that --status tells of a command, and several may have it.
std::set<Words> commands_meant(const std::string& folder, const Words& beginning) {
  if (beginning.empty()) return {};
  std::set<Words> commands = commands_waiting(folder, beginning);
  if (commands.size() < 2 || beginning.size() > 1) return commands;
  throw std::runtime_error("--forget: exec:" + beginning.front() + ": " +
                           std::to_string(commands.size()) +
                           " commands begin so: give one's words, "
                           "the first two at least: " +
                           in_words(commands));
}

bool is_for(const Upload& upload, const config::RemoteTarget& wanted,
            const std::set<Words>& commands) {
  if (!wanted.words.empty()) return commands.contains(upload.words);
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
  const std::set<Words> commands = commands_meant(folder, wanted.words);
  std::set<std::string> ids;
  for (const std::string& path : journals_in(folder)) {
    Journal journal(folder, path);
    std::map<std::string, const Upload*> runs;
    for (const Upload& upload : journal.uploads()) {
      if (!is_waiting(upload) || !is_for(upload, wanted, commands)) continue;
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
