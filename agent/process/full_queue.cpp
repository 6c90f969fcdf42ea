#include "agent/process/full_queue.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/delivery_lock.hpp"
#include "config/units.hpp"

namespace traceagent::process {
namespace {

// Small files would make a long journal, which is read for each file that is too much.
constexpr std::size_t most_files = 10'000;

bool is_bounded(const config::Options& options) {
  return options.output_remote && options.output_keep >= 0 && options.upload_queue != 0;
}

// A dead server is no reason for budget.disk to end the recording.
std::uint64_t most_bytes(const config::Options& options) {
  if (options.budget_disk == 0) return options.upload_queue;
  return std::min(options.upload_queue, options.budget_disk / 2);
}

struct Waiting {
  drain::WaitingFile file;
  std::uint64_t bytes;
};

std::uint64_t bytes_of(const std::deque<KeptFile>& files) {
  std::uint64_t bytes = 0;
  for (const KeptFile& file : files) bytes += file.bytes;
  return bytes;
}

// This process's, oldest first.
std::vector<Waiting> waiting_of(const Agent& agent) {
  std::unordered_map<std::string_view, std::uint64_t> bytes_of_file;
  for (const KeptFile& file : agent.kept_files) bytes_of_file[file.path] = file.bytes;
  std::vector<Waiting> waiting;
  for (drain::WaitingFile& file : drain::waiting_files(agent.ring.ring)) {
    const auto kept = bytes_of_file.find(file.path);
    if (kept != bytes_of_file.end()) waiting.push_back({std::move(file), kept->second});
  }
  return waiting;
}

std::string limit_in_words(const config::Options& options) {
  return config::show_bytes(most_bytes(options)) + " or " + std::to_string(most_files) + " files";
}

}  // namespace

void FullQueue::bound(Agent& agent, bool may_wait) {
  const std::uint64_t most = most_bytes(agent.options);
  const auto fits = [&](std::uint64_t bytes, std::size_t files) {
    return bytes <= most && files <= most_files;
  };
  if (!is_bounded(agent.options) || fits(bytes_of(agent.kept_files), agent.kept_files.size())) {
    return;  // as a rule, without a look at the journal
  }
  const std::vector<Waiting> waiting = waiting_of(agent);
  std::uint64_t bytes = 0;
  for (const Waiting& each : waiting) bytes += each.bytes;
  std::size_t files = waiting.size();
  if (fits(bytes, files)) return;
  trace::FileLock lock(trace::keep_lock_path(drain::output_folder(agent.ring.ring)));
  if (!lock_for_removal(agent, lock, may_wait)) return;
  for (const Waiting& each : waiting) {
    if (fits(bytes, files) || each.file.path == agent.kept_files.back().path) return;
    const LeftOut result = leave_out(agent, each.file, each.bytes);
    if (result == LeftOut::failed) return;  // tried with the next file
    if (result == LeftOut::on_its_way) continue;
    bytes -= each.bytes;
    --files;
  }
}

// In the journal before it goes: whoever is killed in between has lost no file that nobody knows
// of.
FullQueue::LeftOut FullQueue::leave_out(Agent& agent, const drain::WaitingFile& file,
                                        std::uint64_t bytes) {
  const trace::DeliveryLock lock(file.path, trace::DeliveryLock::Kind::leave_out);
  if (!lock.is_held() || !drain::is_waiting(agent.ring.ring, file)) return LeftOut::on_its_way;
  if (!drain::append_left_out(agent.ring.ring, file).empty()) return LeftOut::failed;
  if (unlink(file.path.c_str()) != 0 && errno != ENOENT) return LeftOut::failed;
  if (left_out_++ == 0) {
    first_ = file.path;
    if (is_spokesman(agent, "queue")) {
      say_problem("upload.queue: " + file.path + ": more than " + limit_in_words(agent.options) +
                  " of rank " + std::to_string(agent.identity.rank) +
                  "'s files wait for their upload: the oldest are removed, from this one on: see "
                  "traceagent upload --status " +
                  drain::output_folder(agent.ring.ring));
    }
  }
  left_out_bytes_ += bytes;
  forget_left_out(agent, file.path);
  return LeftOut::done;
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
