#include "agent/process/unqueued_files.hpp"

#include <utility>

#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"

namespace traceagent::process {
namespace {

// A disk that stays full for days must not grow the job.
constexpr std::size_t most_waiting = 1000;

}  // namespace

void UnqueuedFiles::queue(const Agent& agent, drain::UploadRequest request) {
  if (!request.problem.empty()) {
    leave_out(agent, request.problem, request.path);
    if (is_spokesman(agent, "upload")) {
      say_problem(request.problem + drain::not_queued);
      left_out_said_ = left_out_;
    }
    return;
  }
  if (request.record.empty()) return;
  waiting_.push_back(std::move(request));
  const bool has_failed_before = !problem_.empty();
  queue_waiting(agent);
  if (waiting_.empty()) return;
  if (!has_failed_before && is_spokesman(agent, "upload")) {
    say_problem(problem_ + ": it is not queued: tried again with the next file, and at the end");
  }
  if (waiting_.size() <= most_waiting) return;
  leave_out(agent, problem_, waiting_.front().path);
  waiting_.pop_front();
}

void UnqueuedFiles::queue_waiting(const Agent& agent) {
  while (!waiting_.empty()) {
    problem_ = drain::append_upload(agent.ring.ring, waiting_.front());
    if (!problem_.empty()) return;
    waiting_.pop_front();
  }
}

void UnqueuedFiles::leave_out(const Agent& agent, const std::string& problem,
                              const std::string& path) {
  if (left_out_++ == 0) first_problem_ = problem;
  const std::string index_problem = drain::index_not_queued(agent.ring.ring, path, problem);
  if (!index_problem.empty() && is_spokesman(agent, "index")) say_problem(index_problem);
}

bool UnqueuedFiles::finish(const Agent& agent) {
  const std::size_t waited = waiting_.size();
  queue_waiting(agent);
  const bool has_queued = waiting_.size() < waited;
  for (const drain::UploadRequest& request : waiting_) leave_out(agent, problem_, request.path);
  waiting_.clear();
  if (left_out_ > left_out_said_) {
    const std::string more =
        left_out_ == 1 ? "" : " and " + std::to_string(left_out_ - 1) + " more files";
    say_problem(first_problem_ + more + " of rank " + std::to_string(agent.identity.rank) +
                ": not queued (the run's index names them): traceagent upload FILE --to PLACE");
  }
  return has_queued;
}

}  // namespace traceagent::process
