#include "tools/upload/uploader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tools/upload/kept_files.hpp"

namespace traceagent::tools {

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Delivery::Outcome;
using std::chrono::milliseconds;
constexpr auto look_period = milliseconds(100);
constexpr auto longest_idle = std::chrono::seconds(2);
constexpr auto longest_merge = std::chrono::minutes(1);
constexpr auto first_pause = milliseconds(200);
constexpr auto longest_pause = std::chrono::seconds(30);

// Half of it to all of it: many nodes that were refused at once do not come back at once.
std::chrono::nanoseconds with_jitter(std::chrono::nanoseconds pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> choose(pause.count() / 2, pause.count());
  return std::chrono::nanoseconds(choose(random));
}

// Why it cannot be uploaded before somebody changes it; empty: it can. Links are not followed: by
// one in a folder that others may write to, anything of this user's could be uploaded.
std::string unfit(const std::string& path, const struct stat& facts) {
  if (S_ISLNK(facts.st_mode)) return "a symbolic link: give the file that it leads to";
  if (!S_ISREG(facts.st_mode)) return "not a file: give files, or a folder of them";
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES) {
    return "this user may not read it: chmod it, or upload as its owner";
  }
  return {};
}

}  // namespace

std::size_t pending_in(const Journal& journal) {
  const auto& uploads = journal.uploads();
  return static_cast<std::size_t>(
      std::count_if(uploads.begin(), uploads.end(),
                    [](const auto& each) { return each.is_pending() && !each.is_replaced; }));
}

Uploader::Uploader(Journal& journal, std::string folder, std::string problem_path,
                   const UploaderOptions& options, Tell tell)
    : journal_(journal),
      folder_(std::move(folder)),
      problem_path_(std::move(problem_path)),
      options_(options),
      tell_(std::move(tell)),
      patience_(options.patience),
      s3_(options.sizes, patience_) {}

// What was tried least, so that one bad file keeps none of the others.
Upload* Uploader::next() {
  Upload* best = nullptr;
  for (Upload& upload : journal_.uploads()) {
    if (upload.is_left_out) abandon_parts(upload);
    if (!upload.is_pending() || upload.is_refused) continue;
    if (upload.is_replaced) {
      give_up(upload, "queued again");
    } else if (best == nullptr || upload.attempts < best->attempts) {
      best = &upload;
    }
  }
  return best;
}

// Nobody else would: they are not seen in a bucket, and are paid for.
void Uploader::abandon_parts(Upload& upload) {
  if (upload.multipart.empty()) return;
  try {
    s3_.abandon(upload);
  } catch (const std::exception& error) {
    tell_(upload.file + ": its parts on the server: " + error.what());
  }
}

bool Uploader::work() {
  patience_.note_success();
  idle_since_ = Clock::now();
  for (;;) {
    // What is known already can go on; where nothing is left of it, nobody knows what else waits.
    const std::string unread = journal_.read() ? "" : journal_.unreadable();
    const bool is_merging = !keep_few();
    journal_.compact(options_.compact_from);
    Upload* const upload = next();
    if (upload == nullptr) {
      if (!unread.empty()) {
        write_problem(unread);
        throw std::runtime_error(unread);
      }
      if (!may_wait_for_more() && !(is_merging && may_wait_for_merge())) break;
      std::this_thread::sleep_for(look_period);
      continue;
    }
    const bool is_tried = handle(*upload);
    idle_since_ = Clock::now();
    if (is_tried && pause_.count() == 0) continue;
    const std::chrono::nanoseconds left = patience_.left();
    if (left.count() <= 0) break;
    std::this_thread::sleep_for(std::min(is_tried ? with_jitter(pause_) : look_period, left));
  }
  keep_few();
  const bool is_done = pending_in(journal_) == 0;
  if (is_done) write_problem({});
  return is_done;
}

bool Uploader::may_wait_for_more() {
  return options_.beside_job && !all_runs_ended() && Clock::now() - idle_since_ < longest_idle;
}

// Who merges says that the run has ended before it lets go of the files: nobody comes after us to
// remove them.
bool Uploader::may_wait_for_merge() {
  return options_.beside_job && Clock::now() - idle_since_ < longest_merge;
}

bool Uploader::all_runs_ended() const {
  const auto& uploads = journal_.uploads();
  return std::all_of(uploads.begin(), uploads.end(),
                     [](const Upload& each) { return each.has_ended; });
}

// False where its rank is about to remove it, and has it locked: nothing failed.
bool Uploader::handle(Upload& upload) {
  ++upload.attempts;
  Delivery delivery;
  try {
    const trace::DeliveryLock lock(journal_.path_of(upload), trace::DeliveryLock::Kind::deliver);
    if (lock.problem() != 0) throw std::runtime_error(std::strerror(lock.problem()));
    if (!lock.is_held()) return false;
    if (!upload.delivered) {
      delivery = deliver(upload);
      if (delivery.outcome == Outcome::done) upload.delivered = delivery.what;
    }
    if (upload.delivered) note_done(upload);
  } catch (const std::exception& error) {
    delivery = {Outcome::later, error.what()};
  }
  settle(upload, delivery);
  return true;
}

Delivery Uploader::deliver(Upload& upload) {
  const std::string path = journal_.path_of(upload);
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT) return {Outcome::later, std::strerror(errno)};
    if (upload.target.starts_with("s3://")) s3_.abandon(upload);
    return {Outcome::gone, "the file is not there any more"};
  }
  if (std::string why = unfit(path, facts); !why.empty()) return {Outcome::refused, why};
  if (!upload.words.empty()) {
    if (options_.allow_commands) {
      return run_command(upload, path,
                         options_.command_time + std::chrono::seconds(facts.st_size >> 20));
    }
    return {Outcome::refused,
            "a command: see it in " + journal_.path() + ", then add --allow-commands"};
  }
  if (!upload.target.starts_with("s3://")) return copy_to_folder(upload, path);
  return s3_.deliver(upload, path,
                     [this](const trace::JsonObject& record) { journal_.append(record, true); });
}

// Throws where the journal cannot be told: then it is not done, and not sent again.
void Uploader::note_done(Upload& upload) {
  trace::JsonObject record;
  record.add("done", upload.id).add("bytes", upload.bytes).add("sha256", upload.sha256);
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

void Uploader::settle(Upload& upload, const Delivery& delivery) {
  const std::string from_to = upload.file + " -> " + upload.where();
  if (delivery.outcome == Outcome::done) {
    patience_.note_success();
    pause_ = {};
    tell_(from_to);
    return;
  }
  if (delivery.outcome == Outcome::gone) return give_up(upload, delivery.what);
  upload.is_refused = delivery.outcome == Outcome::refused;
  const std::uint64_t left_out = journal_.left_out();
  write_problem(
      from_to + ": " + delivery.what + ": " + std::to_string(pending_in(journal_)) + " files wait" +
      (left_out == 0 ? "" : ", " + std::to_string(left_out) + " were left out (upload.queue)") +
      ": traceagent upload --resume " + folder_);
  tell_(from_to + ": " + delivery.what + (upload.is_refused ? "" : ": tried again"));
  if (upload.is_refused) return;
  pause_ = std::clamp<std::chrono::nanoseconds>(pause_ * 2, first_pause, longest_pause);
}

void Uploader::give_up(Upload& upload, const std::string& why) {
  note(trace::JsonObject().add("gone", upload.id).add("why", why));
  upload.is_gone = true;
  if (!upload.is_replaced) tell_(upload.file + ": " + why);
}

// One line, or none: the agent reads it out at the end of the job.
void Uploader::write_problem(const std::string& line) {
  if (line.empty()) {
    unlink(problem_path_.c_str());
    return;
  }
  const std::string temporary = problem_path_ + ".new";
  std::ofstream(temporary) << line << "\n";
  if (rename(temporary.c_str(), problem_path_.c_str()) != 0) unlink(temporary.c_str());
}

bool Uploader::keep_few() {
  const std::vector<Upload*> removable = files_to_remove(journal_);
  if (removable.empty()) return true;
  // Not while a merge reads them. Without locks we never know: then they stay until all is over.
  trace::FileLock lock(trace::keep_lock_path(folder_));
  const bool has_lock = lock.try_lock(trace::FileLock::Kind::exclusive);
  for (Upload* upload : removable) {
    if (has_lock || (lock.is_refused() && upload->has_ended)) remove(*upload);
  }
  return has_lock || lock.is_refused();
}

void Uploader::remove(Upload& upload) {
  if (unlink(journal_.path_of(upload).c_str()) != 0 && errno != ENOENT) return;
  note(trace::JsonObject().add("removed", upload.id));
  upload.is_removed = true;
}

}  // namespace traceagent::tools
