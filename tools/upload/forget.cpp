#include "tools/upload/forget.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "agent/trace/delivery_lock.hpp"
#include "config/command_words.hpp"
#include "config/remote_target.hpp"
#include "tools/upload/index_notes.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/problems.hpp"

namespace traceagent::tools {

namespace {

using Words = std::vector<std::string>;

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
      if (upload.is_waiting() && begins_so) commands.insert(words);
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

// Whoever has the lock knows from the journal whether the file has arrived. Where nobody can tell,
// as of another user's file, it is taken for one that waits.
bool is_on_its_way(const trace::DeliveryLock& lock) {
  return !lock.is_held() && lock.problem() == 0;
}

void forget(const std::string& folder, Journal& journal, const Upload& upload) {
  trace::JsonObject gone;
  gone.add("gone", upload.id).add("left_out", true).add("why", "--forget");
  journal.append(gone, true);
  remove_half_copy(upload);
  trace::JsonObject left_out;
  left_out.add("left_out", upload.file).add("why", "--forget").add("target", upload.where());
  must_be_told(note_in_index(folder, upload, left_out));
}

}  // namespace

// Without the uploader's lock: one that is at work reads it, as it reads what ranks leave out.
Forgotten forget_uploads(const std::string& folder, const std::string& target, const Tell& tell) {
  const config::RemoteTarget wanted = config::remote_target(target, {}, "");
  if (!wanted.problem.empty()) {
    throw std::runtime_error("--forget: " + config::shown_target(target) + ": " + wanted.problem);
  }
  const std::set<Words> commands = commands_meant(folder, wanted.words);
  Forgotten forgotten;
  for (const std::string& path : journals_in(folder)) {
    Journal journal(folder, path);
    std::map<std::string, Upload> runs;
    // By its place in the journal, which is read on.
    for (std::size_t i = 0; i < journal.uploads().size(); ++i) {
      const auto is_meant = [&] {
        const Upload& each = journal.uploads()[i];
        return each.is_waiting() && is_for(each, wanted, commands);
      };
      if (!is_meant()) continue;
      const std::string file = journal.path_of(journal.uploads()[i]);
      const trace::DeliveryLock lock(file, trace::DeliveryLock::Kind::leave_out);
      journal.read();  // it may have arrived meanwhile
      if (!is_meant()) continue;
      const Upload& upload = journal.uploads()[i];
      const std::string what = upload.file + " -> " + upload.where();
      if (is_on_its_way(lock)) {
        tell(what + ": on its way: ask again");
        ++forgotten.on_their_way;
        continue;
      }
      forget(folder, journal, upload);
      runs.try_emplace(upload.run, upload);
      tell(what + ": left out: the file stays");
      forgotten.ids.insert(upload.id);
    }
    for (const auto& [run, upload] : runs) must_be_told(join_index(folder, upload));
  }
  return forgotten;
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
      replace_file(problem_path, problems.text());
    }
  }
}

}  // namespace traceagent::tools
