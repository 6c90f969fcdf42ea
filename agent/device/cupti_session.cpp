#include "agent/device/cupti_session.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "agent/device/cupti_yield.hpp"
#include "agent/event/no_cancellation.hpp"
#include "agent/event/thread_cpu.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::device {
namespace {

constinit std::atomic<CuptiSession*> live{nullptr};
// The job uses CUPTI: hands off.
constinit std::atomic<bool> job_has_it{false};
constinit std::atomic<RequestBuffer> job_request{nullptr};
constinit std::atomic<CompleteBuffer> job_complete{nullptr};
constinit std::atomic<pid_t> user_of_cupti{0};
// Our own thread asks for the buffers: what they cost is its own time.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool in_own_flush = false;

// Without kernels there is no point; the rest is enabled where the version has it.
constexpr ActivityKind device_kinds[] = {
    ActivityKind::concurrent_kernel,
    ActivityKind::copy,
    ActivityKind::peer_copy,
    ActivityKind::set,
    ActivityKind::memory,
    ActivityKind::overhead,
    ActivityKind::stream,
    ActivityKind::context,
};

// Not by default: with it CUPTI looks at every call of the runtime, whatever that does, and goes on
// to when the kind is off and nobody is subscribed. PyTorch asks for the current device some ten
// times a launch: with this kind alone that takes 204 ns instead of 50, and a launch 0.4 us more
// (H100, CUPTI 130001; the driver's calls cost alike, and cannot be left out). The calls that wait
// are in the trace anyway.
constexpr ActivityKind kind_of_waits = ActivityKind::synchronisation;

constexpr std::uint32_t number_of(ActivityKind kind) noexcept {
  return static_cast<std::uint32_t>(kind);
}

constexpr ActivityKind kind_of(bool is_driver) noexcept {
  return is_driver ? ActivityKind::driver : ActivityKind::runtime;
}

std::int64_t realtime_ns() noexcept {
  return static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
}

// The job may have CUPTI take its times from a function of its own, as PyTorch's profiler does, and
// what that was before cannot be had back. Such records would lie outside of all windows. A clock
// that is set meanwhile, or read late, is no other clock.
bool has_system_clock(const CuptiFunctions& cupti) noexcept {
  constexpr std::int64_t tolerance_ns = 1'000'000'000;
  if (cupti.get_timestamp == nullptr) return true;
  std::uint64_t cupti_ns = 0;
  const std::int64_t before_ns = realtime_ns();
  if (cupti.get_timestamp(&cupti_ns) != cupti_result::success) return true;
  const std::int64_t after_ns = realtime_ns();
  const auto ns = static_cast<std::int64_t>(cupti_ns);
  return ns >= before_ns - tolerance_ns && ns <= after_ns + tolerance_ns;
}

// CUPTI calls CUDA on this thread, and CUDA may call what we wrap: no event of the job.
class OwnWork {
 public:
  OwnWork() noexcept : errno_(errno) { ++ring::writer.nested_in_start; }
  ~OwnWork() {
    --ring::writer.nested_in_start;
    errno = errno_;
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  const event::NoCancellation no_cancellation_;
  int errno_;
};

}  // namespace

class CuptiSession::Held {
 public:
  Held(std::atomic<bool>& held, std::uint64_t patience_ns) noexcept : held_(held) {
    const std::uint64_t deadline_ns = event::clock_ns(CLOCK_MONOTONIC) + patience_ns;
    const timespec pause{0, 200'000};
    while (!(is_held_ = !held_.exchange(true, std::memory_order_acquire))) {
      if (event::clock_ns(CLOCK_MONOTONIC) >= deadline_ns) return;
      nanosleep(&pause, nullptr);
    }
  }
  ~Held() {
    if (is_held_) held_.store(false, std::memory_order_release);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  explicit operator bool() const noexcept { return is_held_; }

 private:
  std::atomic<bool>& held_;
  bool is_held_ = false;
};

namespace {
constexpr std::uint64_t our_patience_ns = 10'000'000'000;
// CUPTI takes seconds to start where there are many devices: the job that asked for it in the midst
// of that would be told that it is taken.
constexpr std::uint64_t job_patience_ns = 5'000'000'000;
}  // namespace

CuptiSession::CuptiSession(ring::Ring ring, std::size_t buffer_bytes, LookUp look_up)
    : ring_(ring), buffer_bytes_(buffer_bytes), look_up_(look_up), pid_(getpid()) {}

CuptiSession::CuptiSession(ring::Ring ring, std::size_t buffer_bytes, CuptiLibrary library)
    : CuptiSession(ring, buffer_bytes, [](void*, const char*) -> void* { return nullptr; }) {
  library_ = std::move(library);
}

// A forked child has a copy of us and of CUPTI's state: both are the parent's.
bool CuptiSession::is_ours() const noexcept { return getpid() == pid_; }

bool CuptiSession::is_inherited() noexcept {
  const CuptiSession* session = live.load(std::memory_order_acquire);
  return session != nullptr && !session->is_ours();
}

CuptiState CuptiSession::fail(CuptiState state, CuptiResult result) noexcept try {
  const std::string problem = problem_line(state, result, library_);
  ring::DeviceBlock& device = ring_.header().device;
  const std::uint32_t before = device.problem.load(std::memory_order_relaxed);
  if (ring_.name(before) != problem) {
    device.problem.store(ring_.add_name(problem), std::memory_order_release);
  }
  problem_result_.store(result, std::memory_order_relaxed);
  // Whoever times by CUDA events goes by it.
  device.source.store(ring::DeviceSource::cuda_events, std::memory_order_release);
  state_.store(state, std::memory_order_release);
  return state;
} catch (...) {
  state_.store(state, std::memory_order_release);
  return state;
}

// Made anew each time: a thread of the job that yields may fail us in the same moment.
std::string CuptiSession::problem() const {
  const CuptiState now = state();
  if (now == CuptiState::off || now == CuptiState::recording) return {};
  return problem_line(now, problem_result_.load(std::memory_order_relaxed), library_);
}

CuptiState CuptiSession::open() noexcept try {
  if (reader_ != nullptr) return CuptiState::off;
  driver_.look(look_up_);
  if (library_.path.empty()) library_ = open_cupti(look_up_, driver_.cuda_major());
  if (library_.path.empty()) return CuptiState::absent;
  api_.learn(library_.functions);
  reader_ =
      std::make_unique<RecordReader>(ring_, library_.version, library_.functions.next_record, api_);
  ring_.header().device.cupti_version.store(library_.version, std::memory_order_relaxed);
  return CuptiState::off;
} catch (...) {
  return CuptiState::failed;
}

void CuptiSession::prepare() noexcept {
  const OwnWork own_work;
  const Held held(held_, our_patience_ns);
  if (held && is_ours() && !job_has_it.load(std::memory_order_acquire)) open();
}

CuptiState CuptiSession::enable() noexcept {
  const OwnWork own_work;
  const Held held(held_, our_patience_ns);
  if (!held || !is_ours()) return state();
  if (is_recording()) return CuptiState::recording;
  ring::DeviceBlock& device = ring_.header().device;
  // Kept until here: windows that ended before are written by it.
  device.recording_since_ns.store(0, std::memory_order_relaxed);
  if (job_has_it.load(std::memory_order_acquire)) return fail(CuptiState::taken, 0);
  const CuptiState opened = open();
  if (opened != CuptiState::off) return fail(opened, 0);
  if (library_.version == unsafe_cupti_version && !accepts_unsafe_) {
    return fail(CuptiState::unsafe, 0);
  }
  if (!buffers_.reserve(buffer_bytes_)) return fail(CuptiState::failed, 0);
  const CuptiResult result = start();
  if (result != cupti_result::success) return fail(state_of(result), result);
  describe_devices();
  device.problem.store(0, std::memory_order_relaxed);
  device.recording_until_ns.store(0, std::memory_order_relaxed);
  device.recording_since_ns.store(kinds_since_ns_, std::memory_order_relaxed);
  const auto door = static_cast<std::size_t>(ring::DoorId::cupti);
  ring_.header().door_open[door].store(1, std::memory_order_relaxed);
  state_.store(CuptiState::recording, std::memory_order_release);
  // After the state: who sees CUPTI as the source sees it recording.
  device.source.store(ring::DeviceSource::cupti, std::memory_order_release);
  // The job asked for it meanwhile, and may have stopped waiting for us.
  if (job_has_it.load(std::memory_order_acquire)) give_up();
  return state();
}

CuptiResult CuptiSession::start() noexcept {
  const CuptiFunctions& cupti = library_.functions;
  live.store(this, std::memory_order_release);
  // Not of a driver that we do not find: whether that is initialised is not known.
  if (driver_.is_initialised()) user_of_cupti.store(pid_, std::memory_order_release);
  const CuptiResult subscribed = cupti.subscribe(&subscriber_, on_callback, this);
  if (subscribed != cupti_result::success) return subscribed;
  if (!has_system_clock(cupti)) {
    cupti.unsubscribe(subscriber_);
    subscriber_ = nullptr;
    return cupti_result::other_clock;
  }
  // Must come before the kinds: the ids are those of /proc and of our own records.
  if (cupti.set_thread_id_type != nullptr) {
    if (cupti.get_thread_id_type != nullptr) cupti.get_thread_id_type(&thread_ids_before_);
    cupti.set_thread_id_type(system_thread_ids);
  }
  // What the job's profiler left in its buffers is the job's.
  if (job_complete.load(std::memory_order_acquire) != nullptr) cupti.flush_all(flush_forced);
  CuptiResult result = cupti.register_callbacks(on_request, on_complete);
  if (result == cupti_result::success) result = enable_kinds();
  kinds_since_ns_ = realtime_ns();
  if (result != cupti_result::success) {
    stop();
    return result;
  }
  if (cupti.enable_callback != nullptr) {
    cupti.enable_callback(1, subscriber_, cupti_domain::resource, context_destroy_starting);
  }
  return result;
}

CuptiResult CuptiSession::enable_kinds() noexcept {
  const CuptiFunctions& cupti = library_.functions;
  if (records_waits_ && cupti.enable_all_sync_records != nullptr) cupti.enable_all_sync_records(0);
  // Calls first: work must not arrive without the call that launched it.
  enable_api(false);
  enable_api(true);
  for (const ActivityKind kind : device_kinds) {
    const CuptiResult result = cupti.enable(number_of(kind));
    if (kind == ActivityKind::concurrent_kernel && result != cupti_result::success) return result;
  }
  if (records_waits_) cupti.enable(number_of(kind_of_waits));
  return cupti_result::success;
}

// The whole kind first, then without what nobody needs: where a context is there already, functions
// that are chosen one by one give no record at all (seen on an H100 with CUPTI 130001, as on an RTX
// 3060 by others). Each time anew: the kind forgets what was left out.
void CuptiSession::enable_api(bool is_driver) noexcept {
  const CuptiFunctions& cupti = library_.functions;
  cupti.enable(number_of(kind_of(is_driver)));
  const auto choose = is_driver ? cupti.enable_driver_api : cupti.enable_runtime_api;
  if (choose == nullptr) return;
  api_.for_each_left_out(is_driver, [&](std::uint32_t id) { choose(id, 0); });
}

void CuptiSession::disable_kinds() noexcept {
  const CuptiFunctions& cupti = library_.functions;
  for (const ActivityKind kind : device_kinds) cupti.disable(number_of(kind));
  if (records_waits_) cupti.disable(number_of(kind_of_waits));
  for (const bool is_driver : {false, true}) cupti.disable(number_of(kind_of(is_driver)));
}

// Everything but the bookkeeping; also after a start that failed half-way.
void CuptiSession::stop() noexcept {
  const CuptiFunctions& cupti = library_.functions;
  ring_.header().device.recording_until_ns.store(realtime_ns(), std::memory_order_relaxed);
  disable_kinds();
  deliver(true);
  if (cupti.enable_callback != nullptr) {
    cupti.enable_callback(0, subscriber_, cupti_domain::resource, context_destroy_starting);
  }
  // PyTorch's profiler counts on CUPTI's own defaults.
  if (records_waits_ && cupti.enable_all_sync_records != nullptr) cupti.enable_all_sync_records(1);
  if (cupti.set_thread_id_type != nullptr) cupti.set_thread_id_type(thread_ids_before_);
  cupti.unsubscribe(subscriber_);
  subscriber_ = nullptr;
  const RequestBuffer request = job_request.load(std::memory_order_acquire);
  const CompleteBuffer complete = job_complete.load(std::memory_order_acquire);
  if (request != nullptr && complete != nullptr) cupti.register_callbacks(request, complete);
}

void CuptiSession::deliver(bool forced) noexcept {
  const std::int64_t before_ns = realtime_ns();
  in_own_flush = true;
  reader_->expect_unfinished(forced);
  const CuptiResult result = library_.functions.flush_all(forced ? flush_forced : 0);
  reader_->expect_unfinished(false);
  in_own_flush = false;
  count_dropped(nullptr, 0);
  if (result != cupti_result::success) return;
  ring_.header().device.delivered_until_ns.store(before_ns, std::memory_order_release);
}

void CuptiSession::flush(bool forced) noexcept {
  const OwnWork own_work;
  const Held held(held_, our_patience_ns);
  if (!held || !is_ours() || !is_recording()) return;
  // The job asked for CUPTI, and did not get our lock in time.
  if (job_has_it.load(std::memory_order_acquire)) return give_up();
  deliver(forced);
  describe_devices();
}

void CuptiSession::disable() noexcept {
  const OwnWork own_work;
  const Held held(held_, our_patience_ns);
  if (!held || !is_ours() || !is_recording()) return;
  deliver(false);
  stop();
  describe_devices();
  state_.store(CuptiState::off, std::memory_order_release);
}

void CuptiSession::yield() noexcept {
  // Before all: in a forked child the lock may be held for ever.
  if (!is_ours()) return;
  const OwnWork own_work;
  const Held held(held_, job_patience_ns);
  if (held && is_recording()) give_up();
}

void CuptiSession::give_up() noexcept {
  deliver(false);
  stop();
  fail(CuptiState::taken, 0);
}

void CuptiSession::count_dropped(void* context, std::uint32_t stream) noexcept {
  std::size_t dropped = 0;
  if (library_.functions.get_dropped == nullptr) return;
  if (library_.functions.get_dropped(context, stream, &dropped) != cupti_result::success) return;
  if (dropped != 0) ring_.count_drop(ring::DropCause::device_dropped, dropped);
}

// Also for devices whose first work came after the start.
void CuptiSession::describe_devices() noexcept try {
  driver_.look(look_up_);
  ring::DeviceBlock& block = ring_.header().device;
  const std::uint64_t devices = reader_->devices_seen() | described_devices_;
  const std::uint64_t with_context = driver_.devices_in_use();
  const std::uint64_t in_use = devices != 0 ? devices : with_context;
  reader_->expect_devices(with_context);
  if (driver_.is_loaded() && in_use != described_devices_) {
    described_devices_ = in_use;
    for (int number = 0; number < 64; ++number) {
      if ((in_use >> number & 1) == 0) continue;
      reader_->set_shape(static_cast<std::uint32_t>(number), driver_.shape(number));
    }
    const std::string json = driver_.properties_json(in_use);
    if (!json.empty()) {
      block.properties_json.store(ring_.add_name(json), std::memory_order_release);
    }
  }
  std::string streams = reader_->streams_json();
  if (streams != described_streams_) {
    block.streams_json.store(ring_.add_name(streams), std::memory_order_release);
    described_streams_ = std::move(streams);
  }
} catch (...) {
  // Without memory the devices have no description.
}

void CuptiSession::on_request(std::uint8_t** buffer, std::size_t* bytes,
                              std::size_t* records) noexcept {
  const int saved_errno = errno;
  CuptiSession* session = live.load(std::memory_order_acquire);
  std::byte* taken = session != nullptr && session->is_ours() ? session->lend() : nullptr;
  *buffer = reinterpret_cast<std::uint8_t*>(taken);
  *bytes = taken != nullptr ? session->buffers_.buffer_bytes() : 0;
  *records = 0;  // as many as fit
  errno = saved_errno;
}

std::byte* CuptiSession::lend() noexcept {
  std::byte* buffer = buffers_.take();
  if (buffer != nullptr || library_.version >= since::refusable_buffers) return buffer;
  return buffers_.take_extra();
}

void CuptiSession::take_back(const std::byte* buffer, std::size_t valid_bytes) noexcept {
  auto* bytes = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(buffer));
  if (valid_bytes != 0) {
    // Counting is many times faster than keeping: memory comes back before there is too much.
    buffers_.is_overrun() ? reader_->discard(bytes, valid_bytes)
                          : reader_->read(bytes, valid_bytes);
  }
  buffers_.give_back(buffer);
}

void CuptiSession::on_complete(void* context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t bytes, std::size_t valid_bytes) noexcept {
  CuptiSession* session = live.load(std::memory_order_acquire);
  if (session == nullptr || !session->is_ours() || buffer == nullptr) return;
  const OwnWork own_work;
  const auto* start = reinterpret_cast<const std::byte*>(buffer);
  if (!session->buffers_.owns(start)) {
    // Lent by the job's profiler before our window began.
    const CompleteBuffer complete = job_complete.load(std::memory_order_acquire);
    if (complete != nullptr) complete(context, stream, buffer, bytes, valid_bytes);
    return;
  }
  const std::uint64_t begin_ns = in_own_flush ? 0 : event::thread_cpu_ns();
  session->take_back(start, valid_bytes);
  session->count_dropped(context, stream);
  if (in_own_flush) return;  // by our own thread, whose time is known
  session->callback_cpu_ns_.fetch_add(event::thread_cpu_since_ns(begin_ns),
                                      std::memory_order_relaxed);
}

void CuptiSession::on_callback(void* user, int domain, std::uint32_t id, const void*) noexcept {
  auto& session = *static_cast<CuptiSession*>(user);
  if (domain != cupti_domain::resource || id != context_destroy_starting) return;
  if (!session.is_ours()) return;
  // In a thread of the job, inside CUPTI: whatever holds our lock may be waiting for this one.
  const OwnWork own_work;
  session.library_.functions.flush_all(0);
}

void yield_to_job() noexcept {
  job_has_it.store(true, std::memory_order_release);
  if (CuptiSession* session = live.load(std::memory_order_acquire)) session->yield();
}

CuptiUse use_of_cupti() noexcept {
  const pid_t user = user_of_cupti.load(std::memory_order_acquire);
  if (user == 0) return CuptiUse::nowhere;
  return user == getpid() ? CuptiUse::here : CuptiUse::in_parent;
}

void job_is_done() noexcept { job_has_it.store(false, std::memory_order_release); }

void remember_job_callbacks(void* request, void* complete) noexcept {
  job_request.store(reinterpret_cast<RequestBuffer>(request), std::memory_order_release);
  job_complete.store(reinterpret_cast<CompleteBuffer>(complete), std::memory_order_release);
}

}  // namespace traceagent::device
