#include "agent/step/stride.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/step/detector_follower.hpp"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace traceagent::step {

namespace {

// That a thread has ended, which the kernel says, orders all that it did before: ThreadSanitizer
// knows that of a join alone, and would report a race of the thread that takes a stride over with
// the one that left it.
#ifdef __SANITIZE_THREAD__
struct EndOfThread {
  Stride* stride = nullptr;
  ~EndOfThread() { __tsan_release(stride); }
};

void owned_until_end(Stride* stride) noexcept {
  static thread_local EndOfThread end;
  end.stride = stride;
}

void see_end_of_owner(Stride* stride) noexcept { __tsan_acquire(stride); }
#else
void owned_until_end(Stride* /*stride*/) noexcept {}
void see_end_of_owner(Stride* /*stride*/) noexcept {}
#endif

}  // namespace

constinit std::atomic<std::uint32_t> next_thread_number{1};
constinit thread_local std::uint32_t this_thread_number = 0;
constinit thread_local Stride* this_threads_stride = nullptr;

void Stride::reserve(std::uint64_t calls_in_stretch) {
  calls_in_stretch_ = calls_in_stretch;
  symbols_ = std::make_unique_for_overwrite<std::uint64_t[]>(History::longest_period);
  next_.store(symbols_.get(), std::memory_order_relaxed);
}

void Stride::become_owned(std::uint32_t thread) noexcept {
  owner_tid_ = static_cast<pid_t>(syscall(SYS_gettid));
  is_left_ = false;
  owned_until_end(this);
  owner_.store(thread, std::memory_order_relaxed);
}

bool Stride::looks_left() noexcept {
  if (owner() == 0 || is_left_) return false;
  const int saved_errno = errno;
  is_left_ = syscall(SYS_tgkill, syscall(SYS_getpid), owner_tid_, 0) != 0 && errno == ESRCH;
  errno = saved_errno;
  if (is_left_) see_end_of_owner(this);
  return is_left_;
}

void Stride::copy(const Pattern& pattern) noexcept {
  pattern_ = &pattern;
  version_ = pattern.version();
  goes_by_shape_ = pattern.track() == Track::shape;
  length_ = pattern.length();
  blocks_in_stretch_ = std::max(calls_in_stretch_ / length_, std::uint64_t{1});
  // As the doors say it: they do not spread the bits.
  for (std::uint64_t i = 0; i < length_; ++i) symbols_[i] = unmixed(pattern.symbol(i));
  for (std::uint64_t i = length_; i < blocks_in_stretch_ * length_; ++i) {
    symbols_[i] = symbols_[i - length_];
  }
}

void Stride::begin(const Detector::Ahead& ahead) noexcept {
  if (pattern_ != ahead.pattern || version_ != ahead.pattern->version()) copy(*ahead.pattern);
  const std::uint64_t now = passed();
  start_ = now - ahead.matched;
  set_passed(start_, ahead.matched, now);
  blocks_left_ = ahead.blocks;
  begin_stretch(1);
  is_of_launches_ = ahead.thread != 0;
}

Stride* Strides::find(std::uint32_t thread) noexcept {
  for (Stride& stride : strides_) {
    if (stride.owner() == thread) return &stride;
  }
  return nullptr;
}

// Nobody compares with it any more, and what its owner told has been fed before what we tell now.
Stride* Strides::find_left() noexcept {
  for (Stride& stride : strides_) {
    if (open_.get() == &stride || !stride.is_left()) continue;
    stride.take(stride.passed());
    return &stride;
  }
  return nullptr;
}

std::uint64_t Strides::stop_this_thread() noexcept {
  Stride* own = find(this_thread_number);
  if (own == nullptr) return 0;
  own->stop();
  return own->passed();
}

std::uint64_t Strides::passed() const noexcept {
  std::uint64_t sum = 0;
  for (const Stride& stride : strides_) sum += stride.passed();
  return sum;
}

void Strides::catch_up(const LogEntry& entry, Detector& detector) noexcept {
  Stride* own = find(entry.token.thread);
  Stride* open = open_.get();
  if (open != nullptr) {
    // Of another thread: what it has let pass before this entry is seen, if it is known to be
    // before. What it lets pass until it sees that it is closed comes with its own next entry.
    detector.glide(open->take(open == own ? entry.passed : open->passed()));
    close();
  }
  if (own == nullptr || own == open) return;
  for (std::uint64_t back = own->take(entry.passed); back > 0; --back) {
    Token late = entry.token;
    late.exact = late.shape = own->symbol_taken(back);
    late.kind = own->is_of_launches() ? Token::Kind::launch : Token::Kind::collective;
    detector.feed(late);
  }
}

void Strides::take_passed(Detector& detector) noexcept {
  if (Stride* open = open_.get(); open != nullptr) {
    const std::uint64_t count = open->take(open->passed());
    detector.glide(count);
    // Its thread may launch no more, and what others launch is not told while this is open.
    if (count == 0 && open->is_of_launches()) close();
  }
  for (Stride& stride : strides_) {
    if (!stride.looks_left()) continue;
    if (stride.owner() == detector.leader()) detector.leader_has_ended();
  }
}

void Strides::open(const Detector& detector) noexcept {
  const Detector::Ahead ahead = detector.ahead();
  if (ahead.pattern == nullptr) return;
  const std::uint32_t thread = thread_number();
  if (ahead.thread != 0 && ahead.thread != thread) return;
  Stride* own = find(thread);
  if (own == nullptr && ((own = find(0)) != nullptr || (own = find_left()) != nullptr)) {
    own->become_owned(thread);
  }
  if (own == nullptr) return;
  own->begin(ahead);
  this_threads_stride = own;
  open_.open(*own);
}

}  // namespace traceagent::step
