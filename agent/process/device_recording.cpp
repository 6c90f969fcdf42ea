#include "agent/process/device_recording.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/device/cuda_driver.hpp"
#include "agent/device/outstanding.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/event/error_text.hpp"
#include "agent/event/no_cancellation.hpp"
#include "agent/event/thread_cpu.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/exit.hpp"
#include "agent/process/futex.hpp"
#include "agent/process/last_thread.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/own_thread.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;
// A kill loses at most that much of the device's work, and buffers come back.
constexpr std::uint64_t flush_period_ns = 100 * ms;
// CUDA is being initialised by the job.
constexpr std::uint64_t look_period_ns = 2 * ms;
constexpr std::uint64_t idle_period_ns = 1000 * ms;
constexpr std::uint64_t settle_look_period_ns = 50 * ms;
// Between windows that follow each other faster, it stays on: being switched costs CUPTI and the
// job more than that, and a window may be over before it is on again.
constexpr std::uint64_t linger_ns = 200 * ms;
// A device that does nothing for so long, while the process ends or where records were lost, will
// not do more.
constexpr std::uint64_t last_progress_ns = 200 * ms;
constexpr std::size_t stack_bytes = 4 * 1024 * 1024;

std::uint64_t now_ns() noexcept { return event::clock_ns(CLOCK_MONOTONIC); }

bool is_recording(step::State state) noexcept {
  return state == step::State::startup || state == step::State::warmup ||
         state == step::State::active;
}

// Before the next warm-up by so much, as far as the steps' pace tells: being switched on takes
// CUPTI a millisecond or two, and its thread may have to wait for a core.
constexpr std::uint64_t lead_ns = 100 * ms;
constexpr std::uint64_t shortest_look_ns = 5 * ms;

// CUDA's and CUPTI's own exit handlers run before the agent's, which was there first. This one is
// registered after theirs and so comes before them, while the device can still be asked.
void at_exit() noexcept {
  static constinit std::atomic<pid_t> done_in{0};  // there are two of these
  Agent* ending = agent.load(std::memory_order_acquire);
  if (ending == nullptr || ending->pid != getpid()) return;
  const HandlerAtExit handler(at_exit);
  if (done_in.exchange(ending->pid, std::memory_order_relaxed) == ending->pid) return;
  ending->device.finish(ending->options.exit_timeout / 2);
}

}  // namespace

bool DeviceRecording::start_thread() noexcept try {
  session_ = new device::CuptiSession(agent_->ring.ring, agent_->options.device_buffers,
                                      door::true_dlsym());
  if (agent_->options.device_unsafe_cupti) session_->accept_unsafe();
  if (agent_->options.device_waits) session_->record_waits();
  is_running_.store(true, std::memory_order_release);
  const int result = start_own_thread(stack_bytes, nullptr, run, this);
  if (result == 0) return true;
  is_running_.store(false, std::memory_order_release);
  is_refused_.store(true, std::memory_order_release);
  if (is_spokesman(*agent_, "cupti-thread")) {
    say_problem("no times of kernels and copies: no thread could be made for CUPTI (" +
                std::string(event::error_text(result)) + "): " + thread_remedy);
  }
  return false;
} catch (...) {
  is_refused_.store(true, std::memory_order_release);
  say_problem("no times of kernels and copies: out of memory");
  return false;
}

void DeviceRecording::start(Agent& agent, std::uint64_t patience_ns) noexcept {
  if (!agent.options.doors_cupti || is_finishing_.load(std::memory_order_relaxed)) return;
  // A forked child's CUPTI is a copy of its parent's, in whatever state that was.
  if (device::CuptiSession::is_inherited()) return;
  const int saved_errno = errno;
  const std::uint64_t deadline_ns = now_ns() + patience_ns;
  const bool is_first = !is_started_.exchange(true, std::memory_order_acq_rel);
  if (is_first) agent_ = &agent;
  if (is_first ? start_thread() : is_running_.load(std::memory_order_acquire)) {
    while (tried_.load(std::memory_order_acquire) == 0) {
      const std::uint64_t now = now_ns();
      if (now >= deadline_ns) break;
      futex_wait(tried_, 0, std::min(deadline_ns - now, longest_sleep_ns));
    }
  }
  errno = saved_errno;
}

void* DeviceRecording::run(void* self) noexcept {
  const event::UsualFloats usual_floats;
  leave_starters_scheduling();
  static_cast<DeviceRecording*>(self)->loop();
  return nullptr;
}

void DeviceRecording::loop() noexcept {
  ring::writer.nested_in_start = 1;
  // Here, not by the thread that started it: what CUPTI starts must have it already.
  prctl(PR_SET_NAME, device_thread_name);
  while (stop_.load(std::memory_order_acquire) == 0) {
    const std::uint32_t seen = word_.load(std::memory_order_acquire);
    work();
    // Where the clock is refused it stays what it was.
    const std::uint64_t cpu_ns = event::thread_cpu_ns() + session_->callback_cpu_ns();
    if (cpu_ns >= start_cpu_ns_ + own_cpu_ns()) {
      own_cpu_ns_.store(cpu_ns - start_cpu_ns_, std::memory_order_relaxed);
    }
    if (stop_.load(std::memory_order_acquire) == 0) sleep(seen);
  }
  session_->disable();
  stopped_.store(1, std::memory_order_release);
  futex_wake(stopped_);
}

void DeviceRecording::leave_out(bool from_next_window, bool at_once) noexcept {
  LeftOut left_out = from_next_window ? LeftOut::from_next_window : LeftOut::no;
  if (at_once) left_out = LeftOut::at_once;
  if (left_out == left_out_.load(std::memory_order_relaxed)) return;
  left_out_since_ticks_.store(event::read_ticks(), std::memory_order_relaxed);
  // Release: who sees that it is left out sees since when.
  left_out_.store(left_out, std::memory_order_release);
  wake();
}

// One that had begun when it was told to leave out. Windows may follow each other without a pause.
bool DeviceRecording::serves_older_window() const noexcept {
  const auto& windows = agent_->ring.ring.header().windows;
  const std::uint64_t since = left_out_since_ticks_.load(std::memory_order_relaxed);
  return std::any_of(windows.begin(), windows.end(), [since](const ring::Window& window) {
    return window.state.load(std::memory_order_acquire) == ring::WindowState::open &&
           window.begin_ticks.load(std::memory_order_relaxed) <= since;
  });
}

bool DeviceRecording::is_left_out(step::State state) const noexcept {
  const LeftOut left_out = left_out_.load(std::memory_order_acquire);
  if (left_out != LeftOut::from_next_window) return left_out == LeftOut::at_once;
  return state == step::State::warmup || !session_->is_recording() || !serves_older_window();
}

bool DeviceRecording::is_wanted() const noexcept {
  const step::State state = agent_->windows->state();
  const bool is_due = is_near_ || (is_recording(state) && state != step::State::startup);
  if (is_due && !is_left_out(state)) return true;
  if (!session_->is_recording()) return false;
  // What the window's calls launched may still run.
  const auto& windows = agent_->ring.ring.header().windows;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].state.load(std::memory_order_acquire) != ring::WindowState::closed) continue;
    if (settled_[i].load(std::memory_order_relaxed) !=
        windows[i].begin_ticks.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// Once CUPTI has traced kernels, each launch costs more for as long as the process lives, also when
// all is off again (some 40 % on an H100 with CUPTI 130001), and cuptiFinalize, which ends that,
// makes work of the job fail. So it is not switched on for the startup window's sake, but where the
// schedule begins at once, and else not long before a window. Where detection has moved the
// schedule this is wrong by as many steps, and the warm-up itself is what tells.
void DeviceRecording::look_how_near() noexcept {
  const step::State state = agent_->windows->state();
  const config::Schedule schedule = config::schedule_of(agent_->options);
  is_near_ = state == step::State::startup && config::first_non_skip(schedule) == 0;
  look_again_ns_ = idle_period_ns;
  if (state != step::State::wait) return;
  const std::uint64_t steps = agent_->ring.ring.header().step_count.load(std::memory_order_acquire);
  pace_.look(steps, now_ns());
  const std::uint64_t epoch = agent_->options.step_per_epoch;
  const std::uint64_t to_go = config::skipped_from(schedule, epoch != 0 ? steps % epoch : steps);
  const std::uint64_t step_ns = pace_.step_ns();
  if (step_ns == 0) {
    is_near_ = to_go == 0;
    look_again_ns_ = std::clamp(pace_.waited_ns(), shortest_look_ns, idle_period_ns);
    return;
  }
  is_near_ = to_go <= lead_ns / step_ns;
  if (is_near_ || to_go > idle_period_ns / step_ns) return;
  look_again_ns_ = std::clamp((to_go * step_ns - lead_ns) / 2, shortest_look_ns, idle_period_ns);
}

bool DeviceRecording::may_be_wanted_soon() const noexcept {
  // Left out, it must be off before the next window, however soon that is.
  if (left_out_.load(std::memory_order_relaxed) != LeftOut::no) return false;
  return agent_->windows->state() != step::State::off && now_ns() - last_wanted_ns_ < linger_ns;
}

void DeviceRecording::work() noexcept {
  const std::uint32_t asked = asked_.load(std::memory_order_acquire);
  const std::uint32_t forced = asked_forced_.exchange(0, std::memory_order_acq_rel);
  look_how_near();
  const bool wanted = is_wanted();
  if (wanted) last_wanted_ns_ = now_ns();
  if (!wanted) was_refused_ = false;
  // Before the job's thread goes on, which waits for it: what is opened takes the lowest
  // descriptors.
  if (!wanted) prepare();
  if (!wanted) note_tried();
  if (wanted && !session_->is_recording()) {
    try_enable();
  } else if (!wanted && !may_be_wanted_soon()) {
    session_->disable();
  } else {
    // By force only where nothing new is wanted: what still runs would be lost.
    session_->flush(forced != 0 && !is_recording(agent_->windows->state()));
  }
  delivered_.store(asked, std::memory_order_release);
  futex_wake(delivered_);
}

void DeviceRecording::note_tried() noexcept {
  if (tried_.exchange(1, std::memory_order_release) == 0) futex_wake(tried_);
}

// Where windows are still to come: the first warm-up may be over sooner than CUPTI is loaded.
void DeviceRecording::prepare() noexcept {
  if (is_prepared_ || agent_->windows->state() == step::State::off) return;
  device::CudaDriver driver;
  driver.look(door::true_dlsym());
  if (!driver.is_initialised()) return;  // the job is within cuInit
  is_prepared_ = true;
  const std::uint64_t cpu_before_ns = event::thread_cpu_ns();
  session_->prepare();
  start_cpu_ns_ += event::thread_cpu_since_ns(cpu_before_ns);
}

void DeviceRecording::try_enable() noexcept try {
  const step::State state = agent_->windows->state();
  // Once in each cycle: what was refused a moment ago is refused now.
  const bool is_new_cycle = state == step::State::warmup && tried_in_ != step::State::warmup;
  tried_in_ = state;
  if (was_refused_ && !is_new_cycle) return;
  device::CudaDriver driver;
  driver.look(door::true_dlsym());
  if (driver.is_loaded() && !driver.is_initialised()) return;
  const std::uint64_t cpu_before_ns = event::thread_cpu_ns();
  is_enabling_.store(true, std::memory_order_release);
  const device::CuptiState got = session_->enable();
  is_enabling_.store(false, std::memory_order_release);
  // CUPTI's own start, once: what it costs from then on is what can be left out.
  if (!has_started_) start_cpu_ns_ += event::thread_cpu_since_ns(cpu_before_ns);
  has_started_ = true;
  note_tried();
  was_refused_ = got != device::CuptiState::recording;
  is_refused_.store(was_refused_, std::memory_order_relaxed);
  if (!was_refused_) {
    say_detail("times of the device from CUPTI: " + session_->library().path + ", version " +
               std::to_string(session_->library().version));
    if (!watches_exit_) watches_exit_ = watch_exit_by(at_exit);
    return;
  }
  const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(got);
  const std::string topic = "cupti-" + std::to_string(static_cast<unsigned>(got));
  if ((said_ & bit) == 0 && is_spokesman(*agent_, topic.c_str())) {
    say_problem(session_->problem());
  }
  said_ |= bit;
} catch (...) {
  was_refused_ = true;
}

void DeviceRecording::sleep(std::uint32_t seen) noexcept {
  std::uint64_t period_ns = look_again_ns_;
  if (session_->is_recording()) {
    period_ns = flush_period_ns;
  } else if (is_wanted() && !was_refused_) {
    period_ns = look_period_ns;
  }
  futex_wait(word_, seen, period_ns);
}

void DeviceRecording::wake() noexcept {
  if (!is_running_.load(std::memory_order_relaxed)) return;
  const int saved_errno = errno;
  word_.fetch_add(1, std::memory_order_release);
  futex_wake(word_);
  errno = saved_errno;
}

std::uint32_t DeviceRecording::ask(bool forced) noexcept {
  if (forced) asked_forced_.store(1, std::memory_order_release);
  const std::uint32_t asked = asked_.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake();
  return asked;
}

bool DeviceRecording::is_delivered(std::uint32_t asked) const noexcept {
  const std::uint32_t done = delivered_.load(std::memory_order_acquire);
  return static_cast<std::int32_t>(done - asked) >= 0;
}

std::uint64_t DeviceRecording::outstanding(const ring::Window& window) const noexcept try {
  const ring::Ring& ring = agent_->ring.ring;
  // The thread that ends the job asks too, while the drain adds anchors.
  const ring::CopiedAnchors anchors = ring::copy_anchors(ring.header());
  const event::TickConverter clock(anchors.anchors.data(), anchors.count,
                                   ring::nominal_rate(ring.header()));
  // While CUPTI was being switched on, calls were told of already and their work was not.
  const std::int64_t begin_ns =
      std::max(clock.realtime_ns(window.begin_ticks.load(std::memory_order_relaxed)),
               ring.header().device.recording_since_ns.load(std::memory_order_relaxed));
  const std::uint64_t end = window.end_ticks.load(std::memory_order_relaxed);
  const std::int64_t end_ns = end != 0 ? clock.realtime_ns(end) : INT64_MAX;
  return device::outstanding_launches(ring, clock, begin_ns, end_ns) +
         device::threads_behind(ring, clock, begin_ns, end_ns);
} catch (...) {
  return 0;
}

// Records of device work and of calls alike, and of other windows' too.
std::uint64_t DeviceRecording::lost(const ring::Window& window) const noexcept {
  const ring::Ring& ring = agent_->ring.ring;
  std::uint64_t lost = window.device_full.load(std::memory_order_relaxed);
  for (const ring::DropCause cause : ring::lost_device_records) {
    const auto index = static_cast<std::size_t>(cause);
    const std::uint64_t all = ring.header().dropped[index].load(std::memory_order_relaxed);
    lost += all - std::min(all, drain::losses_told(ring, window, cause));
  }
  return lost;
}

// From the first kind that is switched on work comes, and its thread may be kept from its core
// before it has said so.
bool DeviceRecording::may_deliver() const noexcept {
  if (!is_running_.load(std::memory_order_acquire)) return false;
  return is_enabling_.load(std::memory_order_acquire) || session_->is_recording();
}

bool DeviceRecording::is_settled(const ring::Window& window) noexcept {
  if (!may_deliver()) return true;
  if (is_finished_.load(std::memory_order_acquire)) return true;
  const auto& windows = agent_->ring.ring.header().windows;
  const auto slot = static_cast<std::size_t>(&window - windows.data());
  const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
  if (settled_[slot].load(std::memory_order_relaxed) == begin_ticks) return true;
  if (!look_if_settled(window, slot)) return false;
  settled_[slot].store(begin_ticks, std::memory_order_relaxed);
  return true;
}

bool DeviceRecording::look_if_settled(const ring::Window& window, std::size_t slot) noexcept {
  Settling& settling = settling_[slot];
  const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
  const std::uint64_t now = now_ns();
  if (settling.begin_ticks != begin_ticks) {
    settling = {begin_ticks, now, 0, now, UINT64_MAX, ask(false), false};
    return false;
  }
  const bool is_late = now - settling.since_ns >= agent_->options.device_settle;
  if (now < settling.next_look_ns && !is_late) return false;
  settling.next_look_ns = now + settle_look_period_ns;
  // A flush that hangs must not hold the files.
  if (!is_delivered(settling.asked)) {
    return now - settling.since_ns >= 2 * agent_->options.device_settle;
  }
  const std::uint64_t missing = outstanding(window);
  if (missing == 0) return true;
  if (missing < settling.fewest) settling.progress_ns = now;
  settling.fewest = std::min(settling.fewest, missing);
  // These may be among what was lost, and will not come; or they still run.
  if (now - settling.progress_ns >= last_progress_ns && missing <= lost(window)) return true;
  // The file counts what has not come.
  if (is_late && settling.is_forced) return true;
  settling.is_forced = is_late;
  settling.asked = ask(is_late);
  return false;
}

std::uint64_t DeviceRecording::outstanding_anywhere() const noexcept {
  std::uint64_t sum = 0;
  for (const ring::Window& window : agent_->ring.ring.header().windows) {
    const ring::WindowState state = window.state.load(std::memory_order_acquire);
    if (state == ring::WindowState::open || state == ring::WindowState::closed) {
      sum += outstanding(window);
    }
  }
  return sum;
}

bool DeviceRecording::wait_for(std::uint32_t asked, std::uint64_t deadline_ns) noexcept {
  while (!is_delivered(asked)) {
    const std::uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    const std::uint32_t seen = delivered_.load(std::memory_order_acquire);
    if (is_delivered(asked)) break;
    futex_wait(delivered_, seen, std::min(deadline_ns - now, longest_sleep_ns));
  }
  return true;
}

// Until everything has come, or nothing more comes.
void DeviceRecording::deliver_last(std::uint64_t deadline_ns) noexcept {
  const timespec pause{0, 5'000'000};
  std::uint64_t fewest = UINT64_MAX;
  std::uint64_t progress_ns = now_ns();
  while (may_deliver() && wait_for(ask(false), deadline_ns)) {
    const std::uint64_t missing = outstanding_anywhere();
    const std::uint64_t now = now_ns();
    if (missing == 0 || now >= deadline_ns) return;
    if (missing < fewest) progress_ns = now;
    fewest = std::min(fewest, missing);
    if (now - progress_ns >= last_progress_ns) return;
    nanosleep(&pause, nullptr);
  }
}

void DeviceRecording::finish(std::uint64_t timeout_ns) noexcept {
  const event::NoCancellation no_cancellation;
  const bool is_first = !is_finishing_.exchange(true, std::memory_order_acq_rel);
  if (!is_running_.load(std::memory_order_acquire)) return;
  const std::uint64_t deadline_ns = now_ns() + timeout_ns;
  if (is_first) {
    deliver_last(std::min(deadline_ns, now_ns() + agent_->options.device_settle));
    stop_.store(1, std::memory_order_release);
    wake();
  }
  while (stopped_.load(std::memory_order_acquire) == 0) {
    const std::uint64_t now = now_ns();
    if (now >= deadline_ns) break;
    futex_wait(stopped_, 0, std::min(deadline_ns - now, longest_sleep_ns));
  }
  is_finished_.store(true, std::memory_order_release);
}

}  // namespace traceagent::process
