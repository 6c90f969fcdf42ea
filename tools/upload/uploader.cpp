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
#include "tools/upload/index_notes.hpp"
#include "tools/upload/kept_files.hpp"
#include "tools/upload/local_file.hpp"
#include "tools/upload/removal.hpp"
#include "tools/upload/run_of_file.hpp"

namespace traceagent::tools {

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Delivery::Outcome;
using std::chrono::milliseconds;
constexpr auto look_period = milliseconds(100);
constexpr auto longest_idle = std::chrono::seconds(2);
constexpr auto longest_merge = std::chrono::minutes(1);
constexpr auto longest_sleep = std::chrono::seconds(1);  // files for other places may come

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
      problems_(problem_path_),
      left_out_(journal) {}

// What was tried least, so that one bad file keeps none of the others. Once patience is over, only
// where nothing has failed.
Uploader::Choice Uploader::next() {
  const bool is_patient = patience_.left().count() > 0;
  const Clock::time_point now = Clock::now();
  Choice choice;
  for (Upload& upload : journal_.uploads()) {
    if (upload.is_overwritten()) leave_out_overwritten(upload);
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
    if (choice.upload == nullptr) show_left_out();
    if (choice.upload != nullptr) {
      const bool is_tried =
          handle(static_cast<std::size_t>(choice.upload - journal_.uploads().data()));
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
  join_indexes();
  tell_still_locked();
  const bool is_done =
      pending_in(journal_, options_.others) == 0 && unwanted_in(journal_, options_.others) == 0;
  const std::size_t all = pending_in(journal_) + unwanted_in(journal_);
  if (all == 0) write_problem(left_out_.lines());
  if (is_done && all != 0) tell_others_wait(all);
  if (!is_done) tell_what_waits();
  return is_done;
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

// False where it could not be tried. By its place in the journal, which may be read on meanwhile.
bool Uploader::handle(std::size_t place) {
  ++journal_.uploads()[place].attempts;
  const bool is_file = journal_.uploads()[place].is_pending();
  std::string subject = from_to(journal_.uploads()[place]);
  if (!is_file) subject += ": parts that nobody will join";
  Delivery delivery;
  try {
    delivery = is_file ? deliver_alone(place) : s3_.abandon(journal_.uploads()[place], note_);
    if (!is_file && delivery.outcome == Outcome::done) subject += ": removed";
  } catch (const std::exception& error) {
    delivery = {Outcome::later, error.what()};
  }
  Upload& upload = journal_.uploads()[place];
  if (delivery.outcome == Outcome::locked) {
    note_locked(upload);
    return false;
  }
  upload.locked_since.reset();
  settle(upload, delivery, subject);
  return true;
}

// A rank queues a file a moment after it has written it: what is there may be a later cycle's.
bool Uploader::is_overwritten_by_now(std::size_t place) {
  const Upload& upload = journal_.uploads()[place];
  if (!was_just_replaced(journal_.path_of(upload), upload.queued_ns)) return false;
  std::this_thread::sleep_for(look_period);
  journal_.read();
  return journal_.uploads()[place].is_overwritten();
}

Delivery Uploader::deliver_alone(std::size_t place) {
  const trace::DeliveryLock lock(journal_.path_of(journal_.uploads()[place]),
                                 trace::DeliveryLock::Kind::deliver);
  if (lock.problem() == EACCES) return {Outcome::refused, unreadable};
  if (lock.problem() != 0) return {Outcome::later, std::strerror(lock.problem())};
  if (!lock.is_held()) return {Outcome::locked, {}};
  if (!journal_.uploads()[place].delivered) {
    if (is_overwritten_by_now(place)) return {Outcome::replaced, {}};
    const Delivery delivery = deliver(journal_.uploads()[place]);
    if (delivery.outcome != Outcome::done) return delivery;
    // Or while it was sent: a command opens the file when it likes.
    journal_.read();
    const Upload& sent = journal_.uploads()[place];
    const bool was_it =
        sent.words.empty() && sent.queued_ns != 0 && sent.modified_ns == sent.queued_ns;
    if (sent.is_overwritten() && !was_it) return {Outcome::replaced, {}};
    journal_.uploads()[place].delivered = delivery.what;
  }
  note_done(journal_.uploads()[place]);
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
  if (delivery.outcome == Outcome::replaced) {
    return upload.is_overwritten() ? leave_out_overwritten(upload)
                                   : leave_out(upload, of_another_run);
  }
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

void Uploader::give_up(Upload& upload, const std::string& why) {
  note(trace::JsonObject().add("gone", upload.id).add("why", why));
  remove_half_copy(upload);
  upload.is_gone = true;
  upload.is_refused = false;
  if (!upload.is_replaced) tell_(upload.file + ": " + why);
}

// What was queued is lost: it is counted, and told of when all else is done.
void Uploader::leave_out(Upload& upload, const std::string& why) {
  note(trace::JsonObject().add("gone", upload.id).add("left_out", true).add("why", why));
  remove_half_copy(upload);
  upload.is_gone = upload.is_left_out = true;
  upload.is_refused = false;
  tell_(from_to(upload) + ": " + why + ": left out");
  left_out_.add(upload, why);
  is_left_out_told_ = false;
  tell_index_of_left_out(upload, why);
}

void Uploader::leave_out_overwritten(Upload& upload) {
  leave_out(upload, upload.is_lost ? of_another_run : written_again);
}

void Uploader::tell_index_of_left_out(const Upload& upload, const std::string& why) {
  trace::JsonObject entry;
  entry.add("left_out", upload.file).add("why", why).add("target", upload.where());
  const std::string problem = note_in_index(folder_, upload, entry);
  if (!problem.empty()) tell_(problem);
  to_join_.try_emplace(upload.run, upload);
}

void Uploader::join_indexes() {
  for (const auto& [run, upload] : to_join_) {
    if (const std::string problem = join_index(folder_, upload); !problem.empty()) tell_(problem);
  }
  to_join_.clear();
}

// Who has removed it may have said so: its rank, for upload.queue, or another uploader, that has
// sent it. What was queued again is one upload.
void Uploader::settle_gone(std::size_t place) {
  if (!journal_.read()) return;  // tried again, or told of as unreadable
  Upload& upload = journal_.uploads()[place];
  if (!upload.is_pending()) return;
  if (upload.is_replaced) return give_up(upload, not_there);
  if (upload.is_overwritten()) return leave_out_overwritten(upload);
  has_lost_any_ = true;
  leave_out(upload, not_there);
}

bool Uploader::keep_few() {
  const std::vector<Upload*> removable = files_to_remove(journal_);
  if (removable.empty()) return true;
  // Not while a merge reads them. Without locks we never know: then they stay until all is over.
  trace::FileLock lock = trace::removal_lock(folder_, {});
  const bool has_lock = lock.try_lock(trace::FileLock::Kind::exclusive);
  for (Upload* upload : removable) {
    const bool may_go = has_lock || (lock.is_refused() && upload->has_ended);
    if (may_go && remove(*upload)) to_join_.try_emplace(upload->run, *upload);
  }
  join_indexes();
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
