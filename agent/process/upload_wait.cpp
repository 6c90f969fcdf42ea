#include "agent/process/upload_wait.hpp"

#include <sys/stat.h>

#include <ctime>

#include "agent/drain/file_names.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/uploads.hpp"
#include "agent/trace/uploader_lock.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t s = 1'000'000'000;
// It takes a moment to begin, and on a busy machine a long one.
constexpr std::uint64_t until_successor_ns = 3 * s;
constexpr std::uint64_t longest_nobody_ns = 20 * s;

}  // namespace

UploadWait::UploadWait(const Agent& agent)
    : agent_(agent),
      lock_(trace::uploader_lock_path(drain::output_folder(agent.ring.ring), agent.identity.host)),
      problem_(
          trace::upload_problem_path(drain::output_folder(agent.ring.ring), agent.identity.host)),
      until_ns_(event::clock_ns(CLOCK_MONOTONIC) + agent.options.upload_wait),
      last_at_work_ns_(event::clock_ns(CLOCK_MONOTONIC)) {}

// When an uploader last said what is wrong; 0: none has.
std::int64_t UploadWait::problem_time_ns() const noexcept {
  struct stat facts {};
  if (stat(problem_.c_str(), &facts) != 0) return 0;
  return facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
}

bool UploadWait::goes_on() {
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (now_ns >= until_ns_) return false;
  if (trace::uploader_at_work(lock_) != trace::Holder::nobody) {
    last_at_work_ns_ = now_ns;
    has_successor_worked_ = has_successor_;
    return true;
  }
  // What is refused at once is refused between two looks.
  if (has_successor_) has_successor_worked_ |= problem_time_ns() != problem_before_ns_;
  const std::uint64_t nobody_ns = now_ns - last_at_work_ns_;
  if (nobody_ns >= until_successor_ns && !has_successor_) {
    has_successor_ = true;
    problem_before_ns_ = problem_time_ns();
    start_uploader(agent_, agent_.identity.host);
  }
  // One that came, and went with files waiting, cannot upload them: so would the next.
  return nobody_ns < (has_successor_worked_ ? until_successor_ns : longest_nobody_ns);
}

}  // namespace traceagent::process
