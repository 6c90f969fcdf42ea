#include "agent/process/full_queue.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/file_problem.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

// Small files would make a long journal, and a long list of what is here.
constexpr std::size_t most_files = 10'000;

bool is_bounded(const config::Options& options) {
  return options.output_remote && options.output_keep >= 0 && options.upload_queue != 0;
}

// A dead server is no reason for budget.disk to end the recording.
std::uint64_t most_here_bytes(const config::Options& options) {
  return options.budget_disk == 0 ? UINT64_MAX : options.budget_disk / 2;
}

std::uint64_t most_waiting_bytes(const config::Options& options) {
  return std::min(options.upload_queue, most_here_bytes(options));
}

// The option that says how much may wait.
std::string limiting_option(const config::Options& options) {
  return most_waiting_bytes(options) < options.upload_queue ? "budget.disk" : "upload.queue";
}

std::string limit_in_words(const config::Options& options) {
  return config::show_bytes(most_waiting_bytes(options)) + " or " + std::to_string(most_files) +
         " files";
}

// False where another file has the name since, which need not be in the queue.
bool is_still(const std::string& path, std::int64_t modified_ns) noexcept {
  struct stat facts {};
  if (modified_ns == 0 || stat(path.c_str(), &facts) != 0) return true;
  return facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec == modified_ns;
}

}  // namespace

void FullQueue::bound(Agent& agent, bool may_wait) {
  if (!is_bounded(agent.options)) return;
  std::uint64_t here_bytes = 0;
  for (const KeptFile& file : agent.kept_files) here_bytes += file.bytes;
  if (here_bytes <= most_waiting_bytes(agent.options) && agent.kept_files.size() <= most_files) {
    return;  // as a rule, without a look at the journal
  }
  if (!look(agent) || !is_full(agent.options)) return;
  trace::FileLock lock = removal_lock(agent);
  // The uploader may have been at work while we waited.
  if (!lock_for_removal(agent, lock, may_wait) || !look(agent)) return;
  if (remove_uploaded_ones(agent)) leave_out_oldest(agent);
}

// Reads the journal, and counts anew.
bool FullQueue::look(const Agent& agent) {
  if (!read_journal(agent)) return false;
  held_ = {};
  for (const KeptFile& file : agent.kept_files) {
    held_.here_bytes += file.bytes;
    const trace::QueuedFile* const queued = find(agent, file);
    if (queued == nullptr || queued->is_uploaded) continue;
    held_.waiting_bytes += file.bytes;
    ++held_.waiting_files;
  }
  return true;
}

// What is kept is output.keep's alone, as long as nothing waits but the newest.
bool FullQueue::fills_disk(const config::Options& options) const {
  return held_.waiting_files > 1 && held_.here_bytes > most_here_bytes(options);
}

bool FullQueue::is_full(const config::Options& options) const {
  return held_.waiting_bytes > most_waiting_bytes(options) || held_.waiting_files > most_files ||
         fills_disk(options);
}

bool FullQueue::read_journal(const Agent& agent) {
  if (!queued_) queued_.emplace(drain::queued_files(agent.ring.ring));
  return queued_->read();
}

// Null: it found no room in the queue so far.
const trace::QueuedFile* FullQueue::find(const Agent& agent, const KeptFile& file) const {
  const std::size_t folder_bytes = drain::output_folder(agent.ring.ring).size() + 1;
  return file.path.size() <= folder_bytes ? nullptr : queued_->find(file.path.substr(folder_bytes));
}

// False: one could not be removed; it is tried with the next file. The newest of all stays.
bool FullQueue::remove_uploaded_ones(Agent& agent) {
  for (std::size_t i = 0; i + 1 < agent.kept_files.size() && fills_disk(agent.options);) {
    const KeptFile file = agent.kept_files[i];
    const trace::QueuedFile* const queued = find(agent, file);
    if (queued == nullptr || !queued->is_uploaded || !is_still(file.path, queued->modified_ns)) {
      ++i;
    } else if (remove_uploaded(agent, file, queued->id) == Result::gone) {
      held_.here_bytes -= file.bytes;
    } else {
      return false;
    }
  }
  return true;
}

void FullQueue::leave_out_oldest(Agent& agent) {
  for (std::size_t i = 0; i + 1 < agent.kept_files.size() && is_full(agent.options);) {
    const KeptFile file = agent.kept_files[i];
    const trace::QueuedFile* const queued = find(agent, file);
    const bool is_waiting = queued != nullptr && !queued->is_uploaded;
    const Result result = is_waiting ? leave_out(agent, file) : Result::stays;
    if (result == Result::failed) return;  // tried with the next file
    if (result == Result::stays) {
      ++i;
      continue;
    }
    held_.here_bytes -= file.bytes;
    held_.waiting_bytes -= file.bytes;
    --held_.waiting_files;
  }
}

// The journal is told after it: where that fails the uploader finds it gone.
FullQueue::Result FullQueue::remove_uploaded(Agent& agent, const KeptFile& file,
                                             const std::string& id) {
  if (!remove_from_disk(agent, file.path)) return Result::failed;
  static_cast<void>(drain::append_removed(agent.ring.ring, id));
  forget_file(agent, file.path, true);
  return Result::gone;
}

// In the journal before it goes: whoever is killed in between has lost no file that nobody knows
// of.
FullQueue::Result FullQueue::leave_out(Agent& agent, const KeptFile& file) {
  const trace::DeliveryLock lock(file.path, trace::DeliveryLock::Kind::leave_out);
  if (lock.problem() != 0 && is_spokesman(agent, "queue-lock")) {
    say_problem(
        trace::file_problem("upload.queue: cannot see whether it is on its way, so it stays",
                            file.path, lock.problem()));
  }
  if (!lock.is_held()) return Result::stays;  // on its way
  if (!look(agent)) return Result::failed;  // it may have arrived, or others, so that there is room
  const trace::QueuedFile* const queued = find(agent, file);
  if (queued == nullptr || queued->is_uploaded || !is_full(agent.options)) return Result::stays;
  if (!drain::append_left_out(agent.ring.ring, queued->id).empty()) return Result::failed;
  // Nobody uploads it any more, whether it goes or not.
  const bool is_gone = remove_from_disk(agent, file.path);
  if (left_out_++ == 0) {
    first_ = file.path;
    say_first(agent);
  }
  left_out_bytes_ += file.bytes;
  if (!is_gone) {
    held_.waiting_bytes -= file.bytes;
    --held_.waiting_files;
    return Result::stays;
  }
  forget_file(agent, file.path, false);
  return Result::gone;
}

void FullQueue::say_first(const Agent& agent) const {
  if (!is_spokesman(agent, "queue")) return;
  say_problem("upload.queue: " + first_ + ": more than " + limit_in_words(agent.options) +
              " of rank " + std::to_string(agent.identity.rank) +
              "'s files wait for their upload: the oldest are left out, from this one on: see "
              "traceagent upload --status " +
              config::shell_word(drain::output_folder(agent.ring.ring)));
}

void FullQueue::say(const Agent& agent) const {
  if (left_out_ == 0) return;
  say_problem("upload.queue: " + first_ + (left_out_ == 1 ? "" : " and others") + ": " +
              std::to_string(left_out_) + " files of rank " + std::to_string(agent.identity.rank) +
              ", " + config::show_bytes(left_out_bytes_) +
              ", were left out before they could be uploaded: more than " +
              limit_in_words(agent.options) +
              " waited: what is removed stands in the index as left_out: raise " +
              limiting_option(agent.options));
}

}  // namespace traceagent::process
