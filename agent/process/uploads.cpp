#include "agent/process/uploads.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "agent/drain/end_of_run.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/node_inputs.hpp"
#include "agent/process/note_file.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/tool_path.hpp"
#include "agent/process/tool_process.hpp"
#include "agent/process/upload_problems.hpp"
#include "agent/process/upload_wait.hpp"
#include "agent/process/waiting_uploads.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/uploader_lock.hpp"
#include "config/command_words.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;

void pause(std::uint64_t ns) noexcept {
  const timespec duration{0, static_cast<long>(ns)};
  nanosleep(&duration, nullptr);
}

bool uploads_anything(const config::Options& options) {
  return options.output_remote.has_value() || options.output_merged_remote.has_value();
}

void say_once(const Agent& agent, const char* topic, const std::string& problem) {
  if (!problem.empty() && is_spokesman(agent, topic)) say_problem(problem);
}

}  // namespace

// By the protocol of tools/upload: who is about to end gives its lock up and looks once more, so
// what was queued while it had the lock is seen.
void start_uploader(const Agent& agent, const std::string& host) {
  const std::string folder = drain::output_folder(agent.ring.ring);
  const trace::Holder at_work = trace::uploader_at_work(trace::uploader_lock_path(folder, host));
  if (at_work == trace::Holder::another) return;
  // Nobody would see the others of this node.
  if (at_work == trace::Holder::unknown && !agent.speaks_for_node()) return;
  const ToolPath tool = find_tool("traceagent-upload");
  const std::string later = ": files stay queued: traceagent upload --resume " +
                            config::shell_word(folder) + " uploads them";
  if (tool.path.empty())
    return say_once(agent, "uploader", "output.remote: " + tool.problem + later);
  const std::string problem =
      start_tool({tool.path, "--beside-job", "--host", host, "--patience",
                  config::show_duration(agent.options.upload_patience), "--command-time",
                  config::show_duration(agent.options.upload_command_time), "--resume", folder});
  if (!problem.empty())
    say_once(agent, "uploader", "output.remote: " + tool.path + ": " + problem + later);
}

namespace {

void count_gone(Agent& agent, const KeptFile& file) {
  ++agent.files_removed;
  agent.ring.ring.header().governor.disk_bytes.fetch_sub(file.bytes, std::memory_order_relaxed);
}

void note_gone(Agent& agent, const KeptFile& file, decltype(drain::index_removed) index) {
  count_gone(agent, file);
  const std::string problem = index(agent.ring.ring, file.path, &agent.index_queue);
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
}

// Only in a thread that has the lock: see RankFilesHeld.
bool remove_file(Agent& agent, const KeptFile& file) {
  if (!remove_from_disk(agent, file.path)) return false;
  note_gone(agent, file, drain::index_removed);
  return true;
}

std::string held_by_other(const Agent& agent) {
  return "output.keep: " + trace::keep_lock_path(drain::output_folder(agent.ring.ring)) +
         ": another process has held it for seconds: ";
}

// What the uploader has removed, of which it tells the index. Not always the oldest: what failed
// once is tried after the others.
void forget_uploaded(Agent& agent) {
  std::erase_if(agent.kept_files, [&](const KeptFile& file) {
    if (access(file.path.c_str(), F_OK) == 0 || errno != ENOENT) return false;
    count_gone(agent, file);
    agent.written_files.forget(file.path);
    return true;
  });
}

// A file that is written again, where the cycles' files have one name, is one file.
void keep_newest(Agent& agent, const drain::RankFileReport& report) {
  auto& kept = agent.kept_files;
  const auto older = std::find_if(kept.begin(), kept.end(),
                                  [&](const auto& file) { return file.path == report.path; });
  if (older != kept.end()) {
    // The uploader has removed it, or it would have been replaced.
    if (report.replaced_bytes == 0) count_gone(agent, *older);
    kept.erase(older);
  }
  kept.push_back({report.path, report.bytes});
}

// The newest stays for the node's file.
void remove_oldest(Agent& agent, bool may_wait) {
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(agent.options.output_keep, 1));
  auto& kept = agent.kept_files;
  if (kept.size() <= most) return;
  trace::FileLock lock = removal_lock(agent);
  if (!lock_for_removal(agent, lock, may_wait)) {
    if (may_wait && !lock.is_refused()) {
      say_once(agent, "keep-lock",
               held_by_other(agent) + std::to_string(kept.size() - most) +
                   " files of this rank stay: remove them by hand");
    }
    return;
  }
  while (kept.size() > most && remove_file(agent, kept.front())) {
    agent.written_files.forget(kept.front().path);
    kept.pop_front();
  }
}

}  // namespace

trace::FileLock removal_lock(const Agent& agent) {
  const ring::Ring& ring = agent.ring.ring;
  return trace::removal_lock(drain::output_folder(ring), ring.header().identity.trace_pid);
}

bool lock_for_removal(const Agent& agent, trace::FileLock& lock, bool may_wait) {
  constexpr auto kind = trace::FileLock::Kind::exclusive;
  if (may_wait ? lock.lock_soon(kind) : lock.try_lock(kind)) return true;
  // A file system without locks: then the ranks of the node have the run's folder alone.
  return lock.is_refused() && !has_been(agent.run_folder, merge_topic);
}

bool remove_from_disk(const Agent& agent, const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  say_once(agent, "removal", trace::file_problem("cannot remove a file", path, errno));
  return false;
}

void forget_file(Agent& agent, const std::string& path, bool is_uploaded) {
  auto& kept = agent.kept_files;
  const auto file =
      std::find_if(kept.begin(), kept.end(), [&](const auto& each) { return each.path == path; });
  if (file == kept.end()) return;
  note_gone(agent, *file, is_uploaded ? drain::index_removed : drain::index_left_out);
  agent.written_files.forget(path);
  kept.erase(file);
}

void queue_rank_file(Agent& agent, const ring::Window& window,
                     const drain::RankFileReport& report) noexcept try {
  if (!agent.options.output_remote) return;
  agent.unqueued_files.queue(agent, drain::rank_file_upload(agent.ring.ring, window, report.path));
} catch (...) {
  say_problem(
      "out of memory: output.remote: a file is not queued: traceagent upload FILE --to PLACE");
}

void before_rank_file(const Agent& agent) noexcept try {
  if (agent.options.output_keep < 0 || !agent.kept_files.empty()) return;
  // What is wrong with the folder is said where the file is not written.
  static_cast<void>(drain::make_parent_folders(drain::output_folder(agent.ring.ring) + "/"));
  static_cast<void>(removal_lock(agent).try_lock(trace::FileLock::Kind::exclusive));
} catch (...) {
  return;
}

void after_rank_file(Agent& agent, const drain::RankFileReport& report) {
  const bool keeps_all = agent.options.output_keep < 0;
  if (!keeps_all) keep_newest(agent, report);
  if (agent.options.output_remote) {
    start_uploader(agent, agent.identity.host);
    if (!keeps_all) forget_uploaded(agent);
    agent.full_queue.bound(agent, false);
  } else if (!keeps_all) {
    remove_oldest(agent, false);  // while others merge it is put off: the job records meanwhile
  }
}

void after_last_rank_file(Agent& agent) {
  // Before this process says that it has finished: who merges then tells the queue of all that is
  // in it that the run has ended.
  if (agent.unqueued_files.try_again(agent)) start_uploader(agent, agent.identity.host);
  if (agent.options.output_remote && agent.options.output_keep >= 0) forget_uploaded(agent);
  agent.full_queue.bound(agent, true);
  if (agent.options.output_keep >= 0 && !agent.options.output_remote) remove_oldest(agent, true);
}

void finish_queue(Agent& agent) {
  if (agent.unqueued_files.finish(agent)) start_uploader(agent, agent.identity.host);
}

namespace {

// "" or what went wrong.
std::string tell_end_of_run(const Agent& agent, const drain::MergedFiles& files) {
  const drain::EndOfRun end = drain::queue_end_of_run(agent.ring.ring, files);
  start_uploader(agent, agent.identity.host);
  // Theirs may have ended before they heard of it.
  for (const std::string& host : end.hosts) start_uploader(agent, host);
  return end.problem;
}

}  // namespace

void after_node_file(Agent& agent, const std::string& path, const NodeInputs& inputs,
                     RankFilesHeld& held) {
  const std::vector<std::string>& files = inputs.files;
  if (uploads_anything(agent.options)) {
    agent.unqueued_files.queue(agent, drain::node_file_upload(agent.ring.ring, path));
    // What stands in the queue behind the end of its run would wait for another.
    finish_queue(agent);
    drain::MergedFiles merged{files, inputs.elsewhere};
    if (!tell_end_of_run(agent, merged).empty()) agent.untold_end = std::move(merged);
  }
  if (agent.options.output_keep != 0) return;
  for (const std::string& file : files) agent.written_files.forget(file);
  if (agent.options.output_remote || !held.hold_alone()) return;
  for (const std::string& file : files) {
    if (file != path) remove_file(agent, {file, 0});
  }
}

namespace {

constexpr const char* untold =
    ": the uploader does not know that the run has ended: what output.keep "
    "would have removed last stays: remove it by hand";

// Somebody may have held the queue, or the disk have been full for a moment.
void say_untold_end(Agent& agent) {
  if (!agent.untold_end) return;
  const std::string problem = tell_end_of_run(agent, *std::exchange(agent.untold_end, {}));
  // Without output.keep nobody waits for it; and that files are not in the queue is said already.
  if (agent.options.output_keep < 0 || agent.unqueued_files.has_left_out()) return;
  if (!problem.empty()) say_once(agent, "end-of-run", problem + untold);
}

}  // namespace

void finish_uploads(Agent& agent) {
  if (!uploads_anything(agent.options)) return;
  agent.full_queue.say(agent);
  finish_queue(agent);
  say_untold_end(agent);
  if (!agent.speaks_for_node()) return;
  const std::string folder = drain::output_folder(agent.ring.ring);
  const std::string journal = trace::journal_path(folder, agent.identity.host);
  const std::string_view run = agent.ring.ring.name(agent.ring.ring.header().identity.run_key);
  const std::string problem = trace::upload_problem_path(folder, agent.identity.host);
  if (agent.options.upload_wait > 0) {
    agent.drain.allow(agent.options.upload_wait + agent.options.exit_timeout);
    UploadWait wait(agent);
    WaitingUploads queued(journal);
    while (queued.read() && queued.of_run(run) > 0 && wait.goes_on()) pause(50 * ms);
  }
  for (const std::string& line : upload_problems(read_note(problem), journal, folder)) {
    say_problem("upload: " + line);
  }
}

RankFilesHeld::RankFilesHeld(const Agent& agent)
    : lock_(trace::merge_lock(drain::output_folder(agent.ring.ring))) {
  if (agent.options.output_keep < 0) return;
  if (lock_.lock_soon(trace::FileLock::Kind::shared) || lock_.is_refused()) return;
  say_once(agent, "keep-lock",
           held_by_other(agent) + "files may go while they are merged: traceagent check FILE");
}

void forget_removed(const Agent& agent, std::vector<std::string>& files) {
  if (agent.options.output_keep < 0) return;
  std::erase_if(files, [](const std::string& file) {
    return access(file.c_str(), F_OK) != 0 && errno == ENOENT;
  });
}

}  // namespace traceagent::process
