#include "agent/process/notices.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "agent/event/uninterrupted.hpp"

namespace traceagent::process {
namespace {

constinit std::atomic<Talk> talk_level{Talk::normal};

// What standard error was when the library was loaded.
struct ErrorOutput {
  bool is_known = false;
  bool is_open = false;
  dev_t device = 0;
  ino_t inode = 0;
};
constinit ErrorOutput at_load;

constexpr std::string_view prefix = "traceagent: ";

// The job may have nobody who reads its standard error, a limit of file sizes, or be in the
// background of a terminal that stops who writes (stty tostop, which lets pass who blocks SIGTTOU):
// none of these may end or stop it. What a failed write raises in this thread while it is blocked
// is taken back.
class WriteSignalsBlocked {
 public:
  WriteSignalsBlocked() noexcept {
    sigset_t pending;
    if (sigpending(&pending) != 0) sigfillset(&pending);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigemptyset(&taken_back_);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU}) {
      sigaddset(&blocked, signal);
      // One that was pending before is the job's.
      if (sigismember(&pending, signal) != 1) sigaddset(&taken_back_, signal);
    }
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &blocked, &before_) == 0;
  }
  ~WriteSignalsBlocked() {
    if (!is_blocked_) return;
    const timespec at_once{0, 0};
    while (sigtimedwait(&taken_back_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
  WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

 private:
  sigset_t taken_back_;
  sigset_t before_;
  bool is_blocked_;  // a filter of system calls may refuse it
};

// What the job opens may get the number of a standard error that is closed, and our line must not
// get into its data. A log looks like one: it is appended to, or has both outputs. So does a pipe
// to who keeps one; an event loop's pipe to itself is not both outputs.
bool is_error_output() noexcept {
  struct stat now {};
  struct stat output {};
  if (!at_load.is_known) return true;
  if (!at_load.is_open || fstat(STDERR_FILENO, &now) != 0) return false;
  if (now.st_dev == at_load.device && now.st_ino == at_load.inode) return true;
  // What else is written to as a device may be a GPU's.
  if (S_ISCHR(now.st_mode)) return now.st_rdev == makedev(1, 3) || isatty(STDERR_FILENO) != 0;
  if (S_ISREG(now.st_mode) && (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0) return true;
  // Neither a connection's protocol nor what has no file, as an eventfd.
  if (!S_ISREG(now.st_mode) && !S_ISFIFO(now.st_mode)) return false;
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);  // of a pipe 1 may be the end to read
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(STDOUT_FILENO, &output) == 0 &&
         output.st_dev == now.st_dev && output.st_ino == now.st_ino;
}

// A full pipe whose reader waits for the job's end would hold the job for ever; one without a
// reader would end it where SIGPIPE cannot be blocked.
bool can_take_a_line() noexcept {
  constexpr int patience_ms = 200;
  pollfd error_output{STDERR_FILENO, POLLOUT, 0};
  return poll(&error_output, 1, patience_ms) != 0 && (error_output.revents & POLLERR) == 0;
}

// One write() for the whole line if it goes, so that ranks that share a terminal do not mix theirs.
// No stdio: its lock may be held by the thread that is exiting.
void write_line(std::string_view line) noexcept {
  std::array<char, 2048> text;
  std::size_t size = prefix.size();
  std::memcpy(text.data(), prefix.data(), size);
  const std::size_t room = text.size() - size - 1;
  line = line.substr(0, room);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : 0);
    // U+0080 to U+009F: a terminal obeys the second of these as it does an escape.
    const bool is_pair = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    text[size++] = byte < 0x20 || byte == 0x7f || is_pair ? '?' : line[i];
    i += is_pair ? 1 : 0;
  }
  text[size++] = '\n';
  const int saved_errno = errno;
  if (is_error_output() && can_take_a_line()) {
    const WriteSignalsBlocked blocked;
    for (std::size_t done = 0; done < size;) {
      const ssize_t written = event::uninterrupted(
          [&] { return write(STDERR_FILENO, text.data() + done, size - done); });
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
  }
  errno = saved_errno;
}

}  // namespace

void look_at_error_output() noexcept {
  const int saved_errno = errno;
  struct stat facts {};
  at_load.is_known = true;
  at_load.is_open = fstat(STDERR_FILENO, &facts) == 0;
  at_load.device = facts.st_dev;
  at_load.inode = facts.st_ino;
  errno = saved_errno;
}

void set_talk(Talk talk) noexcept { talk_level.store(talk, std::memory_order_relaxed); }

void say_problem(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::quiet) write_line(line);
}

void say_result(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::normal) write_line(line);
}

void say_detail(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::verbose) write_line(line);
}

}  // namespace traceagent::process
