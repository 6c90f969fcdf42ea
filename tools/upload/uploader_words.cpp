// What an uploader says: to who started it, and in the problem file, which the agent reads out at
// the end of the job.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/trace/delivery_lock.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/uploader.hpp"

namespace traceagent::tools {

// By hand somebody waits: for how long.
std::string Uploader::tried_again() {
  const bool is_told = std::exchange(has_told_patience_, true);
  if (is_told || options_.beside_job || options_.patience.count() == 0) return ": tried again";
  return ": tried again for " + patience_in_words() + " while none succeeds (--patience)";
}

// Who uploads by hand must know that a refusal leaves a queue.
void Uploader::tell_what_waits() {
  if (options_.beside_job || pending_in(journal_, options_.others) == 0) return;
  const bool is_over = patience_.left().count() <= 0 && options_.patience.count() != 0;
  const std::string why =
      is_over ? "given up: none succeeded for " + patience_in_words() : "not all is uploaded";
  tell_(why + ": the files wait: later: " + how_to_resume(journal_, folder_) +
        ", or not at all: traceagent upload " + config::shell_word(folder_) + " --forget TARGET");
}

std::string how_to_resume(const Journal& journal, const std::string& folder) {
  const auto& uploads = journal.uploads();
  const bool has_commands = std::any_of(uploads.begin(), uploads.end(), [](const Upload& each) {
    return each.is_pending() && !each.words.empty();
  });
  return "traceagent upload --resume " + config::shell_word(folder) +
         (has_commands ? " --allow-commands" : "");
}

std::string Uploader::patience_in_words() const {
  return config::show_duration(static_cast<std::uint64_t>(options_.patience.count()));
}

// The problems stay theirs.
void Uploader::tell_others_wait(std::size_t count) {
  const std::string line = folder_ + ": " + std::to_string(count) +
                           (count == 1 ? " upload that was queued before waits"
                                       : " uploads that were queued before wait") +
                           ": " + how_to_resume(journal_, folder_);
  tell_(line);
  const std::size_t problems = problems_.size();
  problems_.keep(waiting_places(journal_));
  if (problems_.size() == problems) return;
  if (problems_.size() == 0) {
    write_problem(line + "\n" + left_out_.lines());
  } else {
    write_problems();
  }
}

// Where it was locked when it was last tried, which may be long ago. What else was wrong since then
// stays the problem: who asks for the lock at the end knows of nothing else.
void Uploader::tell_still_locked() {
  for (const Upload& upload : journal_.uploads()) {
    if (!upload.locked_since || !upload.is_pending()) continue;
    const trace::DeliveryLock lock(journal_.path_of(upload), trace::DeliveryLock::Kind::deliver);
    if (lock.is_held() || lock.problem() != 0 || back_off_.is_any()) continue;
    tell_problem(upload,
                 from_to(upload) + ": another process still has it locked: see lsof " +
                     config::shell_word(journal_.path_of(upload)),
                 ": not uploaded: traceagent upload --resume " + config::shell_word(folder_));
  }
}

void Uploader::tell_problem(const Upload& upload, const std::string& problem,
                            const std::string& what_next) {
  problems_.keep(waiting_places(journal_));  // somebody may have forgotten others' files
  problems_.note(place_of(upload), problem);
  write_problems();
  tell_(problem + what_next);
}

std::string what_waits(const Journal& journal, const std::string& folder) {
  const std::uint64_t left_out = journal.left_out();
  const std::size_t files = pending_in(journal);
  const std::string wait = std::to_string(files) + (files == 1 ? " file waits" : " files wait");
  return (files == 0 ? "" : ": " + wait) +
         (left_out == 0 ? ""
                        : ", " + std::to_string(left_out) + " were left out " + left_out_causes) +
         ": " + how_to_resume(journal, folder);
}

std::set<std::string> waiting_places(const Journal& journal) {
  std::set<std::string> places;
  for (const Upload& each : journal.uploads()) {
    if (each.is_waiting() || each.has_unwanted_parts()) places.insert(place_of(each));
  }
  return places;
}

// Of its place, which is well again. Not while something else is refused there: that stays so.
void Uploader::forget_problem(const Upload& upload) {
  const std::string place = place_of(upload);
  if (!problems_.has(place)) return;
  const auto& uploads = journal_.uploads();
  const bool is_any_refused = std::any_of(uploads.begin(), uploads.end(), [&](const Upload& each) {
    return each.is_refused && (each.is_waiting() || each.has_unwanted_parts()) &&
           place_of(each) == place;
  });
  if (is_any_refused) return;
  problems_.forget(place);
  write_problems();
}

// When there is nothing else to be done: thousands may be left out at a time.
void Uploader::show_left_out() {
  if (std::exchange(is_left_out_told_, true)) return;
  problems_.keep(waiting_places(journal_));
  write_problems();
}

void Uploader::write_problems() { write_problem(problems_.text() + left_out_.lines()); }

// Lines, or none: the agent reads them out at the end of the job.
void Uploader::write_problem(const std::string& lines) {
  if (lines.empty()) {
    unlink(problem_path_.c_str());
    return;
  }
  replace_file(problem_path_, lines);
}

}  // namespace traceagent::tools
