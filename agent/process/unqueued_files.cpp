#include "agent/process/unqueued_files.hpp"

#include <utility>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/written_files.hpp"
#include "config/command_words.hpp"

namespace traceagent::process {
namespace {

// A disk that stays full for days must not grow the job.
constexpr std::size_t most_waiting = 1000;

// While others keep the index it goes with the next line of it: the job records meanwhile.
void index_not_queued(Agent& agent, const std::vector<std::string>& paths, const std::string& why) {
  const std::string problem =
      drain::index_not_queued(agent.ring.ring, paths, why, false, &agent.index_queue);
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
}

}  // namespace

void UnqueuedFiles::queue(Agent& agent, drain::UploadRequest request) {
  if (!request.problem.empty()) return never_queue(agent, request);
  if (request.record.empty()) {
    try_again(agent);
  } else {
    wait(agent, std::move(request));
  }
}

// As a rule for no time at all.
void UnqueuedFiles::wait(Agent& agent, drain::UploadRequest request) {
  const bool has_failed_before = !waiting_.empty();
  waiting_.push_back({std::move(request), false});
  try_again(agent);
  if (waiting_.empty()) return;
  if (!has_failed_before && is_spokesman(agent, "upload")) {
    say_problem(problem_ + ": " + waiting_.back().request.path +
                ": it is not queued: tried again with the next file, and at the end");
  }
  note_newest(agent);
}

void UnqueuedFiles::note_newest(Agent& agent) {
  Waiting& newest = waiting_.back();
  const std::string& ring = agent.ring.path;
  newest.is_noted = !ring.empty() && ring::note_waiting_upload(ring, newest.request.record.text());
  has_noted_ |= newest.is_noted;
  if (waiting_.size() <= most_waiting) return;
  const Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  if (oldest.is_noted) {
    ++noted_alone_;
  } else {
    leave_out({oldest.request.path});
    index_not_queued(agent, {oldest.request.path}, problem_);
  }
}

// Oldest first. False: not all.
bool UnqueuedFiles::queue_noted(const Agent& agent) {
  const std::vector<std::string> records = ring::waiting_uploads(agent.ring.path);
  for (; noted_queued_ < records.size(); ++noted_queued_) {
    problem_ = drain::append_noted(agent.ring.ring, records[noted_queued_]);
    if (!problem_.empty()) return false;
  }
  noted_alone_ = 0;
  std::erase_if(waiting_, [](const Waiting& each) { return each.is_noted; });
  return true;
}

void UnqueuedFiles::forget_noted(const Agent& agent) {
  noted_alone_ = noted_queued_ = 0;
  if (std::exchange(has_noted_, false)) ring::note_none_waits(agent.ring.path);
}

bool UnqueuedFiles::try_again(const Agent& agent) {
  const std::size_t waited = waiting_.size() + noted_alone_;
  const std::size_t queued_before = noted_queued_;
  if (noted_alone_ > 0 && !queue_noted(agent)) return noted_queued_ > queued_before;
  while (!waiting_.empty()) {
    problem_ = drain::append_upload(agent.ring.ring, waiting_.front().request);
    if (!problem_.empty()) break;
    if (waiting_.front().is_noted) ++noted_queued_;
    waiting_.pop_front();
  }
  if (waiting_.empty()) forget_noted(agent);
  return waiting_.size() < waited;
}

void UnqueuedFiles::never_queue(Agent& agent, const drain::UploadRequest& request) {
  if (is_spokesman(agent, request.option)) say_problem(request.problem + drain::not_queued);
  index_not_queued(agent, {request.path}, request.problem);
}

void UnqueuedFiles::leave_out(const std::vector<std::string>& paths) {
  if (left_out_ == 0 && !paths.empty()) first_left_out_ = problem_ + ": " + paths.front();
  left_out_ += paths.size();
}

std::vector<std::string> UnqueuedFiles::paths_of_all(const Agent& agent) const {
  std::vector<std::string> paths;
  if (noted_alone_ > 0) {
    const std::vector<std::string> records = ring::waiting_uploads(agent.ring.path);
    for (std::size_t i = noted_queued_; i < records.size(); ++i) {
      paths.push_back(drain::file_of_record(agent.ring.ring, records[i]));
    }
  }
  for (const Waiting& each : waiting_) {
    if (noted_alone_ == 0 || !each.is_noted) paths.push_back(each.request.path);
  }
  return paths;
}

// Said before anything that may take time: the process may have none left. Once it is told they
// wait no more: who recovers the ring would tell it again.
bool UnqueuedFiles::finish(Agent& agent) {
  const bool has_queued = try_again(agent);
  const std::vector<std::string> paths = paths_of_all(agent);
  waiting_.clear();
  leave_out(paths);
  const std::size_t left_out = std::exchange(left_out_, 0);
  if (left_out == 0) return has_queued;
  const std::string more =
      left_out == 1 ? "" : " and " + std::to_string(left_out - 1) + " more files";
  say_problem(first_left_out_ + more + " of rank " + std::to_string(agent.identity.rank) +
              ": not queued: traceagent upload " +
              config::shell_word(drain::output_folder(agent.ring.ring)) + " --to PLACE");
  index_not_queued(agent, paths, problem_);
  const std::string problem = agent.index_queue.finish();
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
  forget_noted(agent);
  return has_queued;
}

}  // namespace traceagent::process
