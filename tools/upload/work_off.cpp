#include "tools/upload/work_off.hpp"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "agent/trace/uploader_lock.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"
#include "tools/command_line.hpp"
#include "tools/upload/new_file.hpp"

namespace traceagent::tools {

namespace {

// Its variables (credentials, endpoint, region) are those of whoever started it.
constexpr char anothers_variables[] = ", with the variables that it was started with";

std::string waited_for(const UploaderOptions& options) {
  if (options.beside_job) return anothers_variables;
  return std::string(anothers_variables) + ": waiting for it, at most " +
         config::show_duration(static_cast<std::uint64_t>(options.patience.count())) +
         " (--patience)";
}

// Who has it, where that runs on this machine.
std::string number_of_holder(const std::string& lock_path) {
  const std::int64_t pid = trace::holder_pid(lock_path);
  return pid == 0 ? "" : " (process " + std::to_string(pid) + ")";
}

// Whose turn it is. Where the folder has no locks this machine's memory has: others of this machine
// are kept out, not those of other ones.
class TurnLock {
 public:
  explicit TurnLock(const std::string& path) : in_folder_(path) {}
  ~TurnLock() { unlock(); }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  bool try_lock() {
    if (in_folder_.try_lock(trace::FileLock::Kind::exclusive)) return true;
    if (!in_folder_.is_refused()) return false;
    do {
      in_memory_.emplace(trace::memory_lock_path(in_folder_.path()));
      is_held_in_memory_ = in_memory_->try_lock(trace::FileLock::Kind::exclusive);
      // Who had it removes it before it lets go.
    } while (is_held_in_memory_ && in_memory_->is_lost());
    return is_held_in_memory_;
  }
  // Nothing of it stays in the memory.
  void unlock() {
    if (std::exchange(is_held_in_memory_, false)) unlink(in_memory_->path().c_str());
    in_memory_.reset();
    in_folder_.unlock();
  }

  [[nodiscard]] bool is_alone() const { return !in_folder_.is_refused(); }
  // Nobody can tell who else is at work.
  [[nodiscard]] bool is_refused() const { return in_memory_ && in_memory_->is_refused(); }
  [[nodiscard]] const std::string& path() const {
    return in_memory_ ? in_memory_->path() : in_folder_.path();
  }
  [[nodiscard]] const trace::FileLock& in_folder() const { return in_folder_; }

 private:
  trace::FileLock in_folder_;
  std::optional<trace::FileLock> in_memory_;
  bool is_held_in_memory_ = false;
};

enum class Turn { ours, not_needed, never };

// Another process may have the lock: it uploads what we have queued too. Beside a job nobody waits
// for us.
Turn wait_for_turn(TurnLock& lock, const std::string& folder, const std::string& journal_path,
                   const UploaderOptions& options, const Tell& tell) {
  const auto begin = std::chrono::steady_clock::now();
  for (bool is_told = false;; is_told = true) {
    if (lock.try_lock() || lock.is_refused()) return Turn::ours;
    const std::string who = number_of_holder(lock.path());
    if (!is_told) {
      tell(journal_path + ": another process is at work" + who + waited_for(options));
    }
    if (options.beside_job) return Turn::not_needed;
    const Journal journal(folder, journal_path);
    if (pending_in(journal, options.others) == 0) return Turn::not_needed;
    if (std::chrono::steady_clock::now() - begin >= options.patience) {
      say("not all is uploaded: " + journal_path + ": another process is still at work" + who +
          anothers_variables +
          ": wait, or end it (kill -KILL: it passes over other signals, and what arrived stays), "
          "then: " +
          how_to_resume(journal, folder));
      return Turn::never;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// Nobody hears what an uploader beside a job says: its ranks read this out when they end.
Journal opened(const std::string& folder, const std::string& journal_path,
               const std::string& stem) {
  try {
    return {folder, journal_path};
  } catch (const std::runtime_error& error) {
    replace_file(stem + ".problem", std::string(error.what()) + "\n");
    throw;
  }
}

}  // namespace

// What is appended while we have the lock is ours, what comes after it is the next one's: who
// queues a file, or says that a run has ended, looks whether the lock is free: so after it was
// given up the journal is read once more.
bool work_off(const std::string& folder, const std::string& journal_path,
              const UploaderOptions& options, const Tell& tell) {
  const std::string stem = journal_path.substr(0, journal_path.rfind('.'));
  TurnLock lock(stem + ".lock");
  bool has_all = true;
  for (;;) {
    const Turn turn = wait_for_turn(lock, folder, journal_path, options, tell);
    if (turn != Turn::ours) return turn == Turn::not_needed;
    UploaderOptions of_turn = options;
    of_turn.is_alone = lock.is_alone();
    of_turn.lock = &lock.in_folder();
    // Each cycle's uploader would work beside all those before it.
    if (lock.is_refused() && options.beside_job) of_turn.patience = {};
    Journal journal = opened(folder, journal_path, stem);
    Uploader uploader(journal, folder, stem + ".problem", of_turn, tell);
    const bool is_done = uploader.work();
    has_all = has_all && !uploader.has_lost_any();
    const std::uint64_t asked = journal.asked();
    const bool lock_is_lost = lock.in_folder().is_lost();
    lock.unlock();
    if (lock_is_lost) return false;
    if (!journal.read()) throw std::runtime_error(journal.unreadable());
    if (journal.asked() == asked) return is_done && has_all;
  }
}

}  // namespace traceagent::tools
