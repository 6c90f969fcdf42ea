#include "agent/process/unqueued_files.hpp"

#include <utility>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/written_files.hpp"

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
  waiting_.push_back(std::move(request));
  try_again(agent);
  if (waiting_.empty()) return;
  const drain::UploadRequest& newest = waiting_.back();
  if (!has_failed_before && is_spokesman(agent, "upload")) {
    say_problem(problem_ + ": " + newest.path +
                ": it is not queued: tried again with the next file, and at the end");
  }
  if (waiting_.size() <= most_waiting) {
    has_noted_ = true;
    ring::note_waiting_upload(agent.ring.path, newest.record.text());
    return;
  }
  const std::vector<std::string> oldest{waiting_.front().path};
  waiting_.pop_front();
  leave_out(oldest);
  index_not_queued(agent, oldest, problem_);
}

bool UnqueuedFiles::try_again(const Agent& agent) {
  const std::size_t waited = waiting_.size();
  while (!waiting_.empty()) {
    problem_ = drain::append_upload(agent.ring.ring, waiting_.front());
    if (!problem_.empty()) break;
    waiting_.pop_front();
  }
  if (waiting_.empty() && std::exchange(has_noted_, false)) ring::note_none_waits(agent.ring.path);
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

// Said before anything that may take time: the process may have none left.
bool UnqueuedFiles::finish(Agent& agent) {
  const bool has_queued = try_again(agent);
  std::vector<std::string> paths;
  for (const drain::UploadRequest& request : waiting_) paths.push_back(request.path);
  waiting_.clear();
  leave_out(paths);
  if (left_out_ == 0) return has_queued;
  const std::string more =
      left_out_ == 1 ? "" : " and " + std::to_string(left_out_ - 1) + " more files";
  say_problem(first_left_out_ + more + " of rank " + std::to_string(agent.identity.rank) +
              ": not queued: traceagent upload " + drain::output_folder(agent.ring.ring) +
              " --to PLACE");
  index_not_queued(agent, paths, problem_);
  const std::string problem = agent.index_queue.finish();
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
  return has_queued;
}

}  // namespace traceagent::process
