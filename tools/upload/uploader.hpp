#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "agent/trace/upload_journal.hpp"
#include "tools/upload/back_off.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/left_out.hpp"
#include "tools/upload/patience.hpp"
#include "tools/upload/problems.hpp"
#include "tools/upload/s3.hpp"

namespace traceagent::tools {

struct UploaderOptions {
  std::chrono::nanoseconds patience = std::chrono::hours(1);  // while nothing succeeds
  // Of a command for a file, and a second more for each MiB of it.
  std::chrono::nanoseconds command_time = std::chrono::minutes(10);
  // A file that its rank removes is locked for a moment; what lasts is told.
  std::chrono::nanoseconds longest_lock = std::chrono::seconds(5);
  std::uint64_t compact_from = 256 << 10;  // a journal of so many bytes
  PartSizes sizes;
  bool is_alone = true;                   // it has the journal's lock; else there are no locks
  const trace::FileLock* lock = nullptr;  // which that is
  bool beside_job = false;                // waits a little for more to do; says nothing
  bool allow_commands = false;            // exec: targets
  std::set<std::string> others;           // ids that are left to whoever resumes
};

// One line of what happened to a file.
using Tell = std::function<void(const std::string&)>;

// The command that goes on with what waits there.
std::string how_to_resume(const Journal& journal, const std::string& folder);

// Behind a problem: how much waits, and that command.
std::string what_waits(const Journal& journal, const std::string& folder);
// See place_of(): of all to which something is to go, or has parts to be removed.
std::set<std::string> waiting_places(const Journal& journal);

// Works off one journal. The caller has its lock, where there are locks.
class Uploader {
 public:
  Uploader(Journal& journal, std::string folder, std::string problem_path,
           const UploaderOptions& options, Tell tell);

  // Until nothing is left to be tried, or patience is over, or the queue was removed. True if
  // nothing is pending but others.
  bool work();
  // Files that were gone before they were uploaded.
  [[nodiscard]] bool has_lost_any() const { return has_lost_any_; }

 private:
  struct Choice {
    Upload* upload = nullptr;
    // Where there is none now.
    std::chrono::steady_clock::time_point wait_until = std::chrono::steady_clock::time_point::max();
  };
  Choice next();
  bool sleep_for(std::chrono::nanoseconds pause);
  bool handle(std::size_t place);
  Delivery deliver_alone(std::size_t place);
  bool is_overwritten_by_now(std::size_t place);
  Delivery deliver(Upload& upload);
  Delivery deliver(Upload& upload, const std::string& path, std::uint64_t bytes);
  void settle(Upload& upload, const Delivery& delivery, const std::string& subject);
  void note_locked(Upload& upload);
  void tell_still_locked();
  void tell_problem(const Upload& upload, const std::string& problem, const std::string& what_next);
  void tell_others_wait(std::size_t count);
  std::string tried_again();
  void tell_what_waits();
  [[nodiscard]] std::string patience_in_words() const;
  void note_done(Upload& upload);
  void note(const trace::JsonObject& record);
  void give_up(Upload& upload, const std::string& why);
  void leave_out(Upload& upload, const std::string& why);
  void leave_out_overwritten(Upload& upload);
  void tell_index_of_left_out(const Upload& upload, const std::string& why);
  void join_indexes();
  void settle_gone(std::size_t place);
  // False where another process, that merges, reads the files which are to go.
  bool keep_few();
  bool remove(Upload& upload);
  bool may_wait_for_more();
  bool may_wait_for_merge();
  bool has_lost_lock() const;
  bool all_runs_ended() const;
  void write_problem(const std::string& lines);
  void write_problems();
  void show_left_out();
  void forget_problem(const Upload& upload);

  Journal& journal_;
  const std::string folder_, problem_path_;
  const UploaderOptions options_;
  const Tell tell_;
  Patience patience_;
  bool has_told_patience_ = false;
  S3 s3_;
  const Note note_;
  BackOff back_off_;
  Problems problems_;
  LeftOut left_out_;
  bool is_left_out_told_ = true;
  bool has_lost_any_ = false;
  std::map<std::string, Upload> to_join_;  // one of each run whose index has something new
  std::chrono::steady_clock::time_point idle_since_;
};

}  // namespace traceagent::tools
