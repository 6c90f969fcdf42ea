#include "agent/process/full_queue.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/delivery_lock.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

// Small files would make a long journal, and a long list of what is here.
constexpr std::size_t most_files = 10'000;

bool is_bounded(const config::Options& options) {
  return options.output_remote && options.output_keep >= 0 && options.upload_queue != 0;
}

// A dead server is no reason for budget.disk to end the recording.
std::uint64_t most_bytes(const config::Options& options) {
  if (options.budget_disk == 0) return options.upload_queue;
  return std::min(options.upload_queue, options.budget_disk / 2);
}

std::string limit_in_words(const config::Options& options) {
  return config::show_bytes(most_bytes(options)) + " or " + std::to_string(most_files) + " files";
}

}  // namespace

void FullQueue::bound(Agent& agent, bool may_wait) {
  if (!is_bounded(agent.options)) return;
  here_bytes_ = 0;
  for (const KeptFile& file : agent.kept_files) here_bytes_ += file.bytes;
  if (!is_too_much(agent)) return;  // as a rule, without a look at the journal
  trace::FileLock lock(trace::keep_lock_path(drain::output_folder(agent.ring.ring)));
  if (!lock_for_removal(agent, lock, may_wait) || !read_journal(agent)) return;
  if (queued_->uploaded() > 0 && !remove_oldest(agent, true)) return;
  remove_oldest(agent, false);
}

bool FullQueue::is_too_much(const Agent& agent) const {
  return here_bytes_ > most_bytes(agent.options) || agent.kept_files.size() > most_files;
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

// Until there is room. False: it failed, and is tried with the next file.
bool FullQueue::remove_oldest(Agent& agent, bool is_uploaded) {
  for (std::size_t i = 0; i + 1 < agent.kept_files.size() && is_too_much(agent);) {
    const trace::QueuedFile* const queued = find(agent, agent.kept_files[i]);
    Result result = Result::stays;
    if (queued != nullptr && queued->is_uploaded == is_uploaded) {
      const KeptFile file = agent.kept_files[i];
      result = is_uploaded ? remove_uploaded(agent, file, queued->id) : leave_out(agent, file);
      if (result == Result::gone) here_bytes_ -= file.bytes;
    }
    if (result == Result::failed) return false;
    if (result == Result::stays) ++i;
  }
  return true;
}

// The journal is told after it: where that fails the uploader finds it gone.
FullQueue::Result FullQueue::remove_uploaded(Agent& agent, const KeptFile& file,
                                             const std::string& id) {
  if (unlink(file.path.c_str()) != 0 && errno != ENOENT) return Result::failed;
  static_cast<void>(drain::append_removed(agent.ring.ring, id));
  forget_file(agent, file.path, true);
  return Result::gone;
}

// In the journal before it goes: whoever is killed in between has lost no file that nobody knows
// of.
FullQueue::Result FullQueue::leave_out(Agent& agent, const KeptFile& file) {
  const trace::DeliveryLock lock(file.path, trace::DeliveryLock::Kind::leave_out);
  if (!lock.is_held()) return Result::stays;  // on its way
  if (!read_journal(agent)) return Result::failed;
  const trace::QueuedFile* const queued = find(agent, file);
  if (queued == nullptr) return Result::stays;
  if (queued->is_uploaded) return remove_uploaded(agent, file, queued->id);
  if (!drain::append_left_out(agent.ring.ring, queued->id).empty()) return Result::failed;
  if (unlink(file.path.c_str()) != 0 && errno != ENOENT) return Result::failed;
  if (left_out_++ == 0) {
    first_ = file.path;
    say_first(agent);
  }
  left_out_bytes_ += file.bytes;
  forget_file(agent, file.path, false);
  return Result::gone;
}

void FullQueue::say_first(const Agent& agent) const {
  if (!is_spokesman(agent, "queue")) return;
  say_problem("upload.queue: " + first_ + ": more than " + limit_in_words(agent.options) +
              " of rank " + std::to_string(agent.identity.rank) +
              "'s files wait for their upload: the oldest are removed, from this one on: see "
              "traceagent upload --status " +
              drain::output_folder(agent.ring.ring));
}

void FullQueue::say(const Agent& agent) const {
  if (left_out_ == 0) return;
  say_problem("upload.queue: " + first_ + (left_out_ == 1 ? "" : " and others") + ": " +
              std::to_string(left_out_) + " files of rank " + std::to_string(agent.identity.rank) +
              ", " + config::show_bytes(left_out_bytes_) +
              ", were removed before they could be uploaded: more than " +
              limit_in_words(agent.options) +
              " waited: they stand in the index as left_out: raise upload.queue");
}

}  // namespace traceagent::process
