// The start of the agent, inside the first hooked call of the process.

#include "agent/door/start.hpp"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "agent/device/event_timing.hpp"
#include "agent/door/call.hpp"
#include "agent/door/communicators.hpp"
#include "agent/door/interned_text.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/resource_names.hpp"
#include "agent/door/wrappers.hpp"
#include "agent/event/clock_anchor.hpp"
#include "agent/event/error_text.hpp"
#include "agent/event/no_cancellation.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/death_signals.hpp"
#include "agent/process/exit.hpp"
#include "agent/process/fork.hpp"
#include "agent/process/included_traces.hpp"
#include "agent/process/keeper.hpp"
#include "agent/process/library.hpp"
#include "agent/process/memory_budget.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/old_rings.hpp"
#include "agent/process/output_folder.hpp"
#include "agent/process/own_thread.hpp"
#include "agent/process/private_workers.hpp"
#include "agent/process/rank_holder.hpp"
#include "agent/process/ring_identity.hpp"
#include "agent/process/thread_sanitizer.hpp"
#include "agent/process/tool_process.hpp"
#include "agent/process/usable_cpus.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/overwriting.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/process_ids.hpp"
#include "config/environment.hpp"
#include "config/name_template.hpp"
#include "config/nearest.hpp"
#include "config/signal_names.hpp"
#include "config/units.hpp"

namespace traceagent::process {

constinit std::atomic<Agent*> agent{nullptr};

namespace {

enum class Phase : std::uint32_t { unstarted, starting, decided };
constinit std::atomic<Phase> phase{Phase::unstarted};
// Calls that other threads made meanwhile: they are in no trace, and counted.
constinit std::atomic<std::uint64_t> calls_during_start{0};
// Of a start that found no memory, and none for saying why they cannot be removed.
constinit std::atomic<bool> notes_are_left{false};

Talk talk_of(const config::Options& options) noexcept {
  if (options.quiet) return Talk::quiet;
  return options.verbose ? Talk::verbose : Talk::normal;
}

// The job may change its working folder before the first file is written.
std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  // On the heap: the first hooked call may be made on a small stack.
  const std::unique_ptr<char, decltype(&std::free)> folder(getcwd(nullptr, 0), &std::free);
  if (folder == nullptr) return path;
  // The folder's own braces are no variables.
  return config::as_template(folder.get()) + "/" + path;
}

std::uint64_t most_dead_workers_bytes(const Agent& made) {
  constexpr std::uint64_t rings_of_rank = 8;  // workers that one has at a time
  const auto ranks =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(made.identity.local_world_size, 1, 4096));
  return most_dead_bytes(made.run_folder, made.options.ring_size, rings_of_rank * ranks);
}

// Workers of the node's ranks: what they had recorded waits in memory to be written.
bool has_too_many_dead(const Agent& made) {
  if (made.trace_pid == made.identity.rank || made.run_folder.path.empty()) return false;
  return has_more_dead_than(made.run_folder, most_dead_workers_bytes(made));
}

void say_too_many_dead(const Agent& made) {
  if (!is_spokesman(made, "private-workers")) return;
  say_problem("ring.folder: " + made.run_folder.path + ": rings of dead workers take more than " +
              config::show_bytes(most_dead_workers_bytes(made)) +
              " there: new workers record in private memory, which does not survive a kill: let "
              "workers end by themselves, or lower ring.size");
}

// Of the rank's number, where it is a process of an earlier run that still lives.
void say_holder(const Agent& made) {
  const std::string held = rank_holder_in_words(made.run_folder, made.identity);
  if (!held.empty()) say_problem(held);
}

bool make_ring(Agent& made) {
  made.run_folder = make_run_folder(made.options.ring_folder, made.identity.run_key,
                                    made.identity.stated_node_rank);
  if (!made.run_folder.problem.empty() && is_spokesman(made, "ring")) {
    say_problem(made.run_folder.problem);
  }
  const std::int64_t claim =
      claim_rank(made.run_folder, {made.identity.rank, made.pid, made.identity.rank_start_ns,
                                   made.identity.stated_world_size, made.identity.launcher_pid,
                                   made.identity.family});
  // A second process that claims the rank is a process of its own in the trace.
  made.trace_pid = trace::trace_pid(made.identity.rank, claim);
  if (claim != 0) say_holder(made);
  const bool is_too_much_old = has_too_much_old(made);  // it has said so
  made.is_private_worker = is_too_much_old || has_too_many_dead(made);
  made.ring = ring::create_ring(made.is_private_worker
                                    ? std::string()
                                    : ring_path(made.run_folder, made.identity.rank, made.pid),
                                made.options.ring_size);
  if (made.is_private_worker && made.ring.ring.valid()) {
    note_private_worker(made);
    if (!is_too_much_old) say_too_many_dead(made);
    return true;
  }
  // Where the folder cannot be had there is no path, and all has been said.
  const bool is_known = made.run_folder.path.empty() && made.ring.ring.valid();
  // Of a smaller ring and of one that does not survive a kill each is told once.
  const char* const topic = made.ring.path.empty() ? "private-ring" : "ring";
  if (!made.ring.problem.empty() && !is_known && is_spokesman(made, topic)) {
    say_problem(made.ring.problem);
  }
  // Whatever kept its ring from the folder: if it is killed the others tell.
  if (made.ring.ring.valid() && made.ring.path.empty() && !made.run_folder.path.empty()) {
    made.is_private_worker = true;
    note_private_worker(made);
  }
  return made.ring.ring.valid();
}

bool output_is_usable(Agent& made) {
  const auto folder =
      config::format_name(made.options.output_folder, name_variables(made.identity));
  if (!folder.problem.empty()) return true;  // said when the file is named
  EarlierRun earlier(made.identity.rank, made.identity.rank_start_ns,
                     made.identity.stated_world_size);
  const FolderVerdict verdict =
      check_output_folder(made.run_folder, folder.name, made.identity.run_key,
                          made.options.output_overwrite ? std::vector<std::string>{"*"}
                                                        : included_patterns(made.options),
                          earlier, made.pid);
  made.run_folder.older_until_ns = verdict.older_until_ns;
  if (!verdict.problem.empty()) say_problem(verdict.problem);
  return verdict.usable;
}

void record_into(const Agent& made) {
  ring::target.ring = made.ring.ring;
  ring::target.overwrite.store(made.options.ring_full == "overwrite", std::memory_order_relaxed);
  // Release: a thread that sees the new generation sees the ring.
  ring::target.generation.fetch_add(1, std::memory_order_release);
  ring::prepare_thread_exit();
  door::forget_kernel_offsets();
  door::forget_interned();
  door::rewrite_communicators();
  door::rewrite_resource_names();
}

step::Watch watch_of(const config::Options& options, api::Function counted) noexcept {
  step::Watch watch;
  const bool cuda_is_open = options.doors_cudart || options.doors_driver;
  watch.open = (cuda_is_open ? step::cudart_classes : 0) |
               (options.doors_nccl ? step::nccl_classes : 0) |
               (options.doors_nvtx ? step::range_classes : 0);
  if (counted != api::Function::none) {
    watch.counted = api::is_nccl(counted) ? step::nccl_classes : step::cudart_classes;
  }
  return watch;
}

// The option that keeps the calls or ranges of `step.mark` from us; null: none does.
const char* shut_door_of(const config::StepMark& mark, const config::Options& options) noexcept {
  using Kind = config::StepMark::Kind;
  if (mark.kind == Kind::nvtx) return options.doors_nvtx ? nullptr : "doors.nvtx";
  if (mark.kind != Kind::call) return nullptr;
  const api::Function function = door::find_called(mark.name);
  if (function == api::Function::none) return nullptr;
  if (api::is_nccl(function)) return options.doors_nccl ? nullptr : "doors.nccl";
  if (api::is_driver(function)) return options.doors_driver ? nullptr : "doors.driver";
  return options.doors_cudart ? nullptr : "doors.cudart";
}

void watch_steps(Agent& made) {
  made.windows = std::make_unique<step::WindowKeeper>(
      made.ring.ring, config::schedule_of(made.options), made.options.step_per_epoch);
  // A bad value was refused with the other options.
  const config::StepMark mark = config::parse_step_mark(made.options.step_mark).mark;
  made.tracker = std::make_unique<step::Tracker>(mark, *made.windows, made.options.step_patience);
  const api::Function counted = door::find_called(made.tracker->called_function());
  if (shut_door_of(mark, made.options) != nullptr) made.tracker->count_no_call();
  made.windows->watch(made.tracker.get(), watch_of(made.options, counted));
  made.windows->tell(
      [](void* told) noexcept {
        static_cast<Agent*>(told)->device.wake();
        static_cast<Agent*>(told)->counters.wake();
      },
      &made);
}

// Of each process: one rank's may be refused and the others' not. A forked child has its parent's,
// who may be none of ours.
void say_variable_not_set() {
  if (const char* variable = variable_not_set()) {
    say_problem(std::string(variable) +
                ": could not be set: what it brings (NVTX ranges) is missing: set it to the "
                "path of libtraceagent.so");
  }
}

// What is accepted but does nothing yet, and a function that is never called because it is unknown.
std::vector<std::string> check_values(const config::Options& options) {
  std::vector<std::string> problems;
  const config::StepMark mark = config::parse_step_mark(options.step_mark).mark;
  if (mark.kind == config::StepMark::Kind::call &&
      door::find_called(mark.name) == api::Function::none) {
    problems.push_back(
        "step.mark: " + options.step_mark + ": no function of that name is traced, " +
        config::nearest_in_words(mark.name, door::called_names()) + ": no step will be found");
  }
  if (const char* const door = shut_door_of(mark, options)) {
    problems.push_back("step.mark: " + options.step_mark + ": " + door +
                       " is false: no step will be found");
  }
  return problems;
}

// None lives; what nobody will know once the folder is gone is said.
bool are_private_workers_gone(const Agent& made) {
  const ring::PrivateWorkers workers =
      ring::private_workers_of(made.run_folder.path, made.private_place);
  if (!workers.living.empty()) return false;
  // Who speaks for the node has said it at its end.
  if (!made.speaks_for_node()) say_private_workers_killed_once(made, workers.killed);
  return true;
}

// Only if nobody else is seen to be in it. Returns what went wrong.
std::string remove_unused_run_folder(const Agent& made) {
  const bool is_unused =
      has_no_ring(made.run_folder) &&
      (!has_note(made.run_folder, ring::private_workers_note) || are_private_workers_gone(made));
  return is_unused ? remove_run_folder(made.run_folder) : std::string();
}

// Where memory runs out before the agent has begun, its ring goes, and what else it has put into
// memory.
class RingOfNobody {
 public:
  explicit RingOfNobody(const Agent& owner) noexcept : owner_(&owner) {}
  ~RingOfNobody() {
    if (owner_ == nullptr || owner_->run_folder.path.empty()) return;
    if (!owner_->ring.path.empty()) unlink(owner_->ring.path.c_str());
    ring::finish_private_worker(owner_->private_place);
    try {
      const std::string problem = remove_unused_run_folder(*owner_);
      if (!problem.empty()) say_problem(problem);
    } catch (...) {
      notes_are_left = true;
    }
  }
  RingOfNobody(const RingOfNobody&) = delete;
  RingOfNobody& operator=(const RingOfNobody&) = delete;
  void keep() noexcept { owner_ = nullptr; }

 private:
  const Agent* owner_;
};

// What the process that identified itself knew then; a forked child has its parent's.
constinit const ProcFacts* facts_of_parent = nullptr;

ProcFacts facts_of_process(const config::Options& options) {
  ProcFacts facts = ProcFacts::of_process();
  if (is_forked() && facts_of_parent != nullptr) {
    facts = facts_of_parent->of_child(std::move(facts));
  }
  // Kept for good, as the agent is: the parent's in a child too.
  delete std::exchange(facts_of_parent, new ProcFacts(facts));
  facts.holds_rank = [folder = options.ring_folder](const ProcessFacts& process,
                                                    std::int64_t rank) {
    return holds_rank(folder, process.pid, process.start_ticks, rank);
  };
  return facts;
}

// Everything that can be refused, in order of what it leaves behind.
std::unique_ptr<Agent> make_agent() {
  const config::Environment environment = config::Environment::of_process();
  config::Loaded loaded = config::load(environment);
  auto made = std::make_unique<Agent>();
  made->options = std::move(loaded.options);
  made->pid = getpid();
  set_talk(talk_of(made->options));
  if (!made->options.enabled) return nullptr;
  keep_environment();
  made->options.output_folder = absolute(made->options.output_folder);
  made->identity = identify(made->options, environment, facts_of_process(made->options));
  if (const int error = event::try_clocks(); error != 0) {
    say_problem(std::string("clock_gettime: ") + event::error_text(error) +
                ": tracing is off: allow the job to read the clocks");
    return nullptr;
  }
  if (is_forked() && thread_sanitizer_ends_children()) {
    say_problem(
        "ThreadSanitizer ends a forked process that starts a thread: tracing is off in it: "
        "TSAN_OPTIONS=die_after_fork=0 allows it");
    return nullptr;
  }
  RingOfNobody ring(*made);
  const std::string fitted = fit_memory(made->options);
  const bool has_ring = make_ring(*made);
  if (made->speaks_for_node()) {
    for (const config::Problem& problem : loaded.problems) say_problem(problem.line);
    for (const std::string& problem : made->identity.problems) say_problem(problem);
    if (!fitted.empty()) say_result(fitted);
    for (const std::string& problem : check_values(made->options)) say_problem(problem);
  }
  if (made->speaks_for_node() || !is_forked()) say_variable_not_set();
  if (!has_ring) return nullptr;
  if (!output_is_usable(*made)) {
    remove_ring(*made);
    return nullptr;
  }
  made->cpu_quota = cpu_quota("");
  ring.keep();
  return made;
}

// Once in the life of a process, after the call that made CUDA's context, which took far longer.
constexpr std::uint64_t first_device_call_patience_ns = 500'000'000;

void start_device_recording() noexcept {
  Agent* running = agent.load(std::memory_order_acquire);
  if (running == nullptr || running->pid != getpid()) return;
  running->device.start(*running, first_device_call_patience_ns);
}

event::TickRate choose_ticks() noexcept {
  event::choose_tick_source();
  constexpr int most_attempts = 3;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const event::TickRate measured = event::measure_tick_rate();
    if (measured.ns_per_tick > 0) return measured;
  }
  event::ticks_from_tsc = false;  // then they are nanoseconds
  return event::measure_tick_rate();
}

void begin(Agent& made) {
  const event::TickRate rate = choose_ticks();
  ring::Header& header = made.ring.ring.header();
  write_identity(made);
  header.nominal_ns_per_tick = rate.ns_per_tick;
  header.nominal_rate_error = rate.error;
  ring::add_anchor(made.ring.ring.header(), event::take_anchor());
  door::open_cuda_doors(made.options.doors_cudart, made.options.doors_driver);
  door::ask_nccl_for({made.options.doors_nccl_plugin, made.options.nccl_kernel_channels,
                      made.options.nccl_network});
  watch_steps(made);
  header.ready.store(1, std::memory_order_release);
  record_into(made);
  agent.store(&made, std::memory_order_release);
  door::report_to(made.tracker.get());
  door::on_first_device_call.store(start_device_recording, std::memory_order_release);
  // Before the real call: CUDA is not there yet, and the keeper has none of it.
  start_keeper(made);
  const std::vector<int> signals = config::parse_signals(made.options.signals).numbers;
  const std::uint64_t now_ticks = event::read_ticks();
  made.windows->begin_startup(now_ticks);
  // Slices of time begin with this call, and not once the drain thread first looks.
  made.tracker->poll(now_ticks, event::clock_ns(CLOCK_MONOTONIC));
  if (const int error = made.drain.start(made); error != 0) {
    // Without it nothing could be written or bounded.
    switch_off();
    header.finished.store(1, std::memory_order_seq_cst);
    ring::finish_private_worker(made.private_place);
    remove_ring(made);
    say_problem(std::string("no thread could be made for writing traces (") +
                event::error_text(error) + "): tracing is off: " + thread_remedy);
    return;
  }
  watch_exit();
  if (!watch_death_signals(signals)) {
    say_problem(
        "signals: not watched: what a signal cuts stays in memory for `traceagent recover`: allow "
        "sigaction");
  }
}

}  // namespace

bool is_spokesman(const Agent& made, const char* topic) {
  // By this ending `traceagent recover` knows the note as one of ours.
  return made.run_folder.path.empty() ? made.speaks_for_node() && made.said.add(topic)
                                      : be_first(made.run_folder, std::string(topic) + "-problem");
}

void remove_ring(const Agent& made) {
  const std::string& path = made.ring.path;
  if (path.empty() && !made.is_private_worker) return;
  std::string problem;
  if (!path.empty()) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      problem = "ring.folder: " + path + ": " + event::error_text(errno) +
                ": not removed: it is of no more use, remove it by hand";
    }
    unlink(ring::written_files_path(path).c_str());
  }
  const std::string left = remove_unused_run_folder(made);
  if (!left.empty()) problem = left;
  if (!problem.empty()) say_problem(problem);
}

void switch_off() noexcept {
  door::on_first_device_call.store(nullptr, std::memory_order_relaxed);
  step::set_all_modes(step::Mode::pass);
  door::report_to(nullptr);
  agent.store(nullptr, std::memory_order_release);
}

void stay_off() noexcept {
  phase.store(Phase::decided, std::memory_order_relaxed);
  step::set_all_modes(step::Mode::pass);
}

void forget_after_fork() noexcept {
  // Off by the user's word or for want of something: so is the child.
  const bool is_off = phase.load(std::memory_order_relaxed) == Phase::decided &&
                      agent.load(std::memory_order_relaxed) == nullptr;
  if (is_off) return;
  // The parent's agent stays allocated in the child and is never used: its ring is the parent's.
  door::on_first_device_call.store(nullptr, std::memory_order_relaxed);
  door::report_to(nullptr);
  agent.store(nullptr, std::memory_order_relaxed);
  device::forget_event_timing();
  ring::target.ring = ring::Ring();
  ring::target.generation.fetch_add(1, std::memory_order_release);
  ring::forget_overwriting();
  step::set_all_modes(step::Mode::unstarted);
  phase.store(Phase::unstarted, std::memory_order_release);
}

}  // namespace traceagent::process

namespace traceagent::door {

void start_process() noexcept {
  using namespace process;
  Phase expected = Phase::unstarted;
  // Whoever comes second passes through unrecorded rather than waits: it might hold a lock that
  // the start needs.
  if (!phase.compare_exchange_strong(expected, Phase::starting, std::memory_order_acq_rel)) {
    if (ring::writer.nested_in_start == 0) {
      calls_during_start.fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  const int saved_errno = errno;
  const event::NoCancellation no_cancellation;
  const event::UsualFloats usual_floats;
  ++ring::writer.nested_in_start;
  try {
    // First of all: a child forked by another thread meanwhile must find itself unstarted.
    if (!watch_forks()) throw std::bad_alloc();
    // The small files of the run's folder count against the job's limit of file sizes.
    trace::FileSizeLimitGuard no_signal;
    no_signal.limit_reached();
    std::unique_ptr<Agent> made = make_agent();
    if (made != nullptr) {
      // Never freed, even where it cannot begin: a thread may have seen it.
      RingOfNobody ring(*made);
      begin(*made.release());
      ring.keep();
      const std::uint64_t missed = calls_during_start.exchange(0, std::memory_order_relaxed);
      ring::target.ring.count_drop(ring::DropCause::during_start, missed);
    } else {
      step::set_all_modes(step::Mode::pass);
    }
  } catch (...) {
    switch_off();
    say_problem(notes_are_left.load(std::memory_order_relaxed)
                    ? "out of memory at the start: tracing is off: notes stay in ring.folder: "
                      "`traceagent recover` removes them"
                    : "out of memory at the start: tracing is off: raise the job's limit (ulimit "
                      "-v) or lower TRACEAGENT_RING_SIZE");
  }
  --ring::writer.nested_in_start;
  phase.store(Phase::decided, std::memory_order_release);
  errno = saved_errno;
}

void start_in_injection(const char* users_problem) noexcept {
  using namespace process;
  start_process();
  if (*users_problem != '\0') say_problem(users_problem);
  Agent* running = process::agent.load(std::memory_order_acquire);
  if (running == nullptr || running->pid != getpid()) return;
  running->device.start(*running, 0);
}

}  // namespace traceagent::door
