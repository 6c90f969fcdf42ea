#include "tools/upload/uploader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/upload_journal.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"
#include "tools/upload/index_notes.hpp"
#include "tools/upload/kept_files.hpp"
#include "tools/upload/local_file.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/removal.hpp"
#include "tools/upload/run_of_file.hpp"

namespace traceagent::tools {

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Delivery::Outcome;
using std::chrono::milliseconds;
constexpr char of_another_run[] = "another run's file has its name";
constexpr char not_there[] = "the file is not there any more";
constexpr auto look_period = milliseconds(100);
constexpr auto longest_idle = std::chrono::seconds(2);
constexpr auto longest_merge = std::chrono::minutes(1);
constexpr auto longest_sleep = std::chrono::seconds(1);  // files for other places may come

std::string from_to(const Upload& upload) { return upload.file + " -> " + upload.where(); }

// False also where nobody can tell: of files that were queued by hand, and what is no trace.
bool is_of_another_run(const Upload& upload, const std::string& path) {
  const std::string run = upload.run.empty() ? "" : run_of_file(path);
  return !run.empty() && run != upload.run;
}

}  // namespace

Uploader::Uploader(Journal& journal, std::string folder, std::string problem_path,
                   const UploaderOptions& options, Tell tell)
    : journal_(journal),
      folder_(std::move(folder)),
      problem_path_(std::move(problem_path)),
      options_(options),
      tell_(std::move(tell)),
      patience_(options.patience),
      s3_(options.sizes, patience_),
      note_([this](const trace::JsonObject& record) { journal_.append(record, true); }),
      problems_(problem_path_) {}

// What was tried least, so that one bad file keeps none of the others. Once patience is over, only
// where nothing has failed.
Uploader::Choice Uploader::next() {
  const bool is_patient = patience_.left().count() > 0;
  const Clock::time_point now = Clock::now();
  Choice choice;
  for (Upload& upload : journal_.uploads()) {
    if (upload.is_pending() && upload.is_lost) leave_out(upload, of_another_run, replaced_);
    if (upload.is_pending() && upload.is_replaced) give_up(upload, "queued again");
    const bool is_to_do = upload.is_pending() || upload.has_unwanted_parts();
    if (!is_to_do || upload.is_refused || options_.others.count(upload.id) != 0) continue;
    if (back_off_.is_closed(upload)) continue;
    const Clock::time_point next_try = back_off_.next_try(upload);
    if (next_try > now || (!is_patient && back_off_.has_failed(upload))) {
      choice.wait_until = std::min(choice.wait_until, next_try);
    } else if (choice.upload == nullptr || upload.attempts < choice.upload->attempts) {
      choice.upload = &upload;
    }
  }
  return choice;
}

bool Uploader::work() {
  idle_since_ = Clock::now();
  for (;;) {
    if (has_lost_lock()) return false;
    // What is known already can go on; where nothing is left of it, nobody knows what else waits.
    const std::string unread = journal_.read() ? "" : journal_.unreadable();
    const bool is_merging = !keep_few();
    if (options_.is_alone) journal_.compact(options_.compact_from);
    const Choice choice = next();
    if (choice.upload != nullptr) {
      const bool is_tried = handle(*choice.upload);
      idle_since_ = Clock::now();
      if (is_tried || sleep_for(look_period)) continue;
      break;
    }
    if (choice.wait_until != Clock::time_point::max()) {
      if (sleep_for(choice.wait_until - Clock::now())) continue;
      break;
    }
    if (!unread.empty()) {
      write_problem(unread + "\n");
      throw std::runtime_error(unread);
    }
    if (!may_wait_for_more() && !(is_merging && may_wait_for_merge())) break;
    std::this_thread::sleep_for(look_period);
  }
  keep_few();
  tell_still_locked();
  const bool is_done =
      pending_in(journal_, options_.others) == 0 && unwanted_in(journal_, options_.others) == 0;
  const std::size_t all = pending_in(journal_) + unwanted_in(journal_);
  if (all == 0) write_problem(left_out_in_words());
  if (is_done && all != 0) tell_others_wait(all);
  if (!is_done) tell_what_waits();
  return is_done;
}

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
  write_problem(problems_.size() == 0 ? line + "\n"
                                      : problems_.text(what_waits(journal_, folder_)));
}

// False: patience is over.
bool Uploader::sleep_for(std::chrono::nanoseconds pause) {
  const std::chrono::nanoseconds left = patience_.left();
  if (left.count() <= 0) return false;
  std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(
      pause, {}, std::min<std::chrono::nanoseconds>(left, longest_sleep)));
  return true;
}

bool Uploader::may_wait_for_more() {
  return options_.beside_job && !all_runs_ended() && Clock::now() - idle_since_ < longest_idle;
}

// The folder was removed, or its queue: a job that has made it anew since has an uploader of its
// own.
bool Uploader::has_lost_lock() const {
  if (options_.lock == nullptr || !options_.lock->is_lost()) return false;
  tell_(trace::upload_folder(folder_) + ": it was removed");
  return true;
}

// Who merges says that the run has ended before it lets go of the files: nobody comes after us to
// remove them.
bool Uploader::may_wait_for_merge() {
  return options_.beside_job && Clock::now() - idle_since_ < longest_merge;
}

// Of each process the newest file has ended: older ones may have been removed before.
bool Uploader::all_runs_ended() const {
  std::map<std::pair<std::string, std::int64_t>, bool> processes;
  for (const Upload& each : journal_.uploads()) {
    if (each.kind == "rank") processes[{each.run, each.process}] = each.has_ended;
  }
  return std::all_of(processes.begin(), processes.end(),
                     [](const auto& process) { return process.second; });
}

// False where it could not be tried.
bool Uploader::handle(Upload& upload) {
  ++upload.attempts;
  const bool is_file = upload.is_pending();
  std::string subject = from_to(upload) + (is_file ? "" : ": parts that nobody will join");
  Delivery delivery;
  try {
    delivery = is_file ? deliver_alone(upload) : s3_.abandon(upload, note_);
    if (!is_file && delivery.outcome == Outcome::done) subject += ": removed";
  } catch (const std::exception& error) {
    delivery = {Outcome::later, error.what()};
  }
  if (delivery.outcome == Outcome::locked) {
    note_locked(upload);
    return false;
  }
  upload.locked_since.reset();
  settle(upload, delivery, subject);
  return true;
}

Delivery Uploader::deliver_alone(Upload& upload) {
  const trace::DeliveryLock lock(journal_.path_of(upload), trace::DeliveryLock::Kind::deliver);
  if (lock.problem() == EACCES) return {Outcome::refused, unreadable};
  if (lock.problem() != 0) return {Outcome::later, std::strerror(lock.problem())};
  if (!lock.is_held()) return {Outcome::locked, {}};
  if (!upload.delivered) {
    const Delivery delivery = deliver(upload);
    if (delivery.outcome != Outcome::done) return delivery;
    upload.delivered = delivery.what;
  }
  note_done(upload);
  return {};
}

Delivery Uploader::deliver(Upload& upload) {
  const std::string path = journal_.path_of(upload);
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT) return {Outcome::later, std::strerror(errno)};
    return {Outcome::gone, {}};
  }
  if (std::string why = unfit(path, facts); !why.empty()) return {Outcome::refused, why};
  // A folder may be used again while files wait: what is there now would be sent to the earlier
  // run's place, and removed by its output.keep.
  if (is_of_another_run(upload, path)) return {Outcome::replaced, {}};
  upload.modified_ns = modified_ns(facts);
  const Delivery delivery = deliver(upload, path, static_cast<std::uint64_t>(facts.st_size));
  if (delivery.outcome != Outcome::done) return delivery;
  if (was_written_to(path, facts)) return {Outcome::later, "it was changed while it was uploaded"};
  // A command opens the file when it likes.
  const bool is_by_name = !upload.words.empty();
  return is_by_name && is_of_another_run(upload, path) ? Delivery{Outcome::replaced, {}} : delivery;
}

Delivery Uploader::deliver(Upload& upload, const std::string& path, std::uint64_t bytes) {
  if (!upload.words.empty()) {
    if (options_.allow_commands) {
      // Wherever it goes to from here.
      return run_command(upload, std::filesystem::absolute(path).string(),
                         options_.command_time + std::chrono::seconds(bytes >> 20));
    }
    return {Outcome::refused,
            "a command: see it in " + journal_.path() + ", then add --allow-commands"};
  }
  if (!upload.target.starts_with("s3://")) return copy_to_folder(upload, path, options_.is_alone);
  return s3_.deliver(upload, path, note_);
}

// Throws where the journal cannot be told: then it is not done, and not sent again.
void Uploader::note_done(Upload& upload) {
  trace::JsonObject record;
  record.add("done", upload.id).add("bytes", upload.bytes).add("sha256", upload.sha256);
  record.add("modified", upload.modified_ns);
  if (!upload.delivered->empty()) record.add("etag", *upload.delivered);
  journal_.append(record, true);  // the file may be removed next
  upload.is_done = true;
}

// What the next uploader finds out again where it is not noted: a full disk ends nothing.
void Uploader::note(const trace::JsonObject& record) {
  try {
    journal_.append(record, false);
  } catch (const std::exception& error) {
    tell_(error.what());
  }
}

void Uploader::settle(Upload& upload, const Delivery& delivery, const std::string& subject) {
  if (delivery.outcome == Outcome::done) {
    patience_.note_success();
    back_off_.note_success(upload);
    tell_(subject);
    forget_problem(upload);
    return;
  }
  if (delivery.outcome == Outcome::gone) {
    return settle_gone(static_cast<std::size_t>(&upload - journal_.uploads().data()));
  }
  if (delivery.outcome == Outcome::replaced) return leave_out(upload, of_another_run, replaced_);
  upload.is_refused = delivery.outcome == Outcome::refused;
  tell_problem(upload, subject + ": " + delivery.what, upload.is_refused ? "" : tried_again());
  if (delivery.is_of_place) back_off_.note_refusal(upload);
  if (upload.is_refused) return;
  patience_.note_failure();
  back_off_.note_failure(upload, Clock::now());
}

// Its rank has it for a moment before it removes it: nothing failed.
void Uploader::note_locked(Upload& upload) {
  const Clock::time_point now = Clock::now();
  if (!upload.locked_since) upload.locked_since = now;
  if (now - *upload.locked_since < options_.longest_lock) return;
  patience_.note_failure();
  if (std::exchange(upload.is_lock_told, true)) return;
  tell_problem(upload,
               from_to(upload) + ": another process has it locked: see lsof " +
                   config::shell_word(journal_.path_of(upload)) + ", and end that one",
               ": tried again");
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
  write_problem(problems_.text(what_waits(journal_, folder_)));
  tell_(problem + what_next);
}

std::string what_waits(const Journal& journal, const std::string& folder) {
  const std::uint64_t left_out = journal.left_out();
  const std::size_t files = pending_in(journal);
  return (files == 0 ? "" : ": " + std::to_string(files) + " files wait") +
         (left_out == 0 ? ""
                        : ", " + std::to_string(left_out) + " were left out " + left_out_causes) +
         ": " + how_to_resume(journal, folder);
}

std::set<std::string> waiting_places(const Journal& journal) {
  std::set<std::string> places;
  for (const Upload& each : journal.uploads()) {
    const bool is_waiting = each.is_pending() && !each.is_replaced;
    if (is_waiting || each.has_unwanted_parts()) places.insert(place_of(each));
  }
  return places;
}

// Of its place, where it was the last that waited for it. The last problem of all stays until
// nothing waits at all.
void Uploader::forget_problem(const Upload& upload) {
  const std::string place = place_of(upload);
  if (problems_.size() < 2 || !problems_.has(place)) return;
  if (waiting_places(journal_).contains(place)) return;
  problems_.forget(place);
  write_problem(problems_.text(what_waits(journal_, folder_)));
}

void Uploader::give_up(Upload& upload, const std::string& why) {
  note(trace::JsonObject().add("gone", upload.id).add("why", why));
  upload.is_gone = true;
  upload.is_refused = false;
  if (!upload.is_replaced) tell_(upload.file + ": " + why);
}

// What was queued is lost: it is counted, and told of when all else is done.
void Uploader::leave_out(Upload& upload, const std::string& why, LeftOut& of_cause) {
  note(trace::JsonObject().add("gone", upload.id).add("left_out", true).add("why", why));
  upload.is_gone = upload.is_left_out = true;
  upload.is_refused = false;
  tell_(from_to(upload) + ": " + why + ": left out");
  if (of_cause.files++ == 0) of_cause.first = from_to(upload);
  forget_problem(upload);
}

// Who has removed it may have said so: its rank, for upload.queue, or another uploader, that has
// sent it. What was queued again is one upload.
void Uploader::settle_gone(std::size_t place) {
  if (!journal_.read()) return;  // tried again, or told of as unreadable
  Upload& upload = journal_.uploads()[place];
  if (!upload.is_pending()) return;
  if (upload.is_replaced) return give_up(upload, not_there);
  leave_out(upload, not_there, gone_);
}

std::string Uploader::left_out_in_words() const {
  const auto line = [](const LeftOut& of_cause, const std::string& why) {
    if (of_cause.files == 0) return std::string();
    const bool is_one = of_cause.files == 1;
    return of_cause.first + (is_one ? "" : " and " + std::to_string(of_cause.files - 1) + " more") +
           ": left out: " + why + "\n";
  };
  return line(gone_,
              "not there any more when it was to be uploaded: leave it to output.keep to remove "
              "what has arrived") +
         line(replaced_,
              "files of another run have their names: give each run an output.folder of its own");
}

// Lines, or none: the agent reads out the first at the end of the job.
void Uploader::write_problem(const std::string& lines) {
  if (lines.empty()) {
    unlink(problem_path_.c_str());
    return;
  }
  replace_file(problem_path_, lines);
}

bool Uploader::keep_few() {
  const std::vector<Upload*> removable = files_to_remove(journal_);
  if (removable.empty()) return true;
  // Not while a merge reads them. Without locks we never know: then they stay until all is over.
  trace::FileLock lock = trace::removal_lock(folder_, {});
  const bool has_lock = lock.try_lock(trace::FileLock::Kind::exclusive);
  std::map<std::string, const Upload*> runs;
  for (Upload* upload : removable) {
    const bool may_go = has_lock || (lock.is_refused() && upload->has_ended);
    if (may_go && remove(*upload)) runs[upload->run] = upload;
  }
  for (const auto& [run, upload] : runs) {
    if (const std::string problem = join_index(folder_, *upload); !problem.empty()) tell_(problem);
  }
  return has_lock || lock.is_refused();
}

bool Uploader::remove(Upload& upload) {
  const Removal removal = remove_uploaded(folder_, upload);
  if (!removal.is_gone) return false;
  note(trace::JsonObject().add("removed", upload.id));
  upload.is_removed = true;
  if (!removal.problem.empty()) tell_(removal.problem);
  return true;
}

}  // namespace traceagent::tools
