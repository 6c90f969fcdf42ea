#include "tools/upload/work_off.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "agent/trace/upload_journal.hpp"
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

enum class Turn { ours, not_needed, never };

// Another process may have the lock: it uploads what we have queued too. Beside a job nobody waits
// for us.
Turn wait_for_turn(trace::FileLock& lock, const std::string& folder,
                   const std::string& journal_path, const UploaderOptions& options,
                   const Tell& tell) {
  const auto begin = std::chrono::steady_clock::now();
  for (bool is_told = false;; is_told = true) {
    if (lock.try_lock(trace::FileLock::Kind::exclusive) || lock.is_refused()) return Turn::ours;
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
  trace::FileLock lock(stem + ".lock");
  bool has_all = true;
  for (;;) {
    const Turn turn = wait_for_turn(lock, folder, journal_path, options, tell);
    if (turn != Turn::ours) return turn == Turn::not_needed;
    UploaderOptions of_turn = options;
    of_turn.is_alone = !lock.is_refused();
    of_turn.lock = &lock;
    Journal journal = opened(folder, journal_path, stem);
    Uploader uploader(journal, folder, stem + ".problem", of_turn, tell);
    const bool is_done = uploader.work();
    has_all = has_all && !uploader.has_lost_any();
    const std::uint64_t asked = journal.asked();
    const bool lock_is_lost = lock.is_lost();
    lock.unlock();
    if (lock_is_lost) return false;
    if (!journal.read()) throw std::runtime_error(journal.unreadable());
    if (journal.asked() == asked) return is_done && has_all;
  }
}

}  // namespace traceagent::tools
