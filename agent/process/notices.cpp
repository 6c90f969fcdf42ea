#include "agent/process/notices.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
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

// The job may have nobody who reads its standard error, or a limit of file sizes: neither may end
// it. What a failed write raises in this thread while it is blocked is taken back.
class WriteSignalsBlocked {
 public:
  WriteSignalsBlocked() noexcept {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    sigaddset(&signals_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    // One that was pending before is the job's.
    if (sigismember(&pending, SIGPIPE) == 1) sigdelset(&signals_, SIGPIPE);
    if (sigismember(&pending, SIGXFSZ) == 1) sigdelset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~WriteSignalsBlocked() {
    const timespec at_once{0, 0};
    while (sigtimedwait(&signals_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
  WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

 private:
  sigset_t signals_;
  sigset_t before_;
};

// A file that the job opens may get the number of a standard error that is closed, and our line
// must not get into its data. A log looks like one: it is appended to, or has both outputs.
bool is_error_output() noexcept {
  struct stat now {};
  struct stat output {};
  if (!at_load.is_known) return true;
  if (!at_load.is_open || fstat(STDERR_FILENO, &now) != 0) return false;
  if (!S_ISREG(now.st_mode)) return true;
  if (now.st_dev == at_load.device && now.st_ino == at_load.inode) return true;
  if ((fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0) return true;
  return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == now.st_dev &&
         output.st_ino == now.st_ino;
}

// A full pipe whose reader waits for the job's end would hold the job for ever.
bool can_take_a_line() noexcept {
  constexpr int patience_ms = 200;
  pollfd error_output{STDERR_FILENO, POLLOUT, 0};
  return poll(&error_output, 1, patience_ms) != 0;
}

// One write() for the whole line if it goes, so that ranks that share a terminal do not mix theirs.
// No stdio: its lock may be held by the thread that is exiting.
void write_line(std::string_view line) noexcept {
  std::array<char, 2048> text;
  std::size_t size = prefix.size();
  std::memcpy(text.data(), prefix.data(), size);
  const std::size_t room = text.size() - size - 1;
  for (const char c : line.substr(0, room)) {
    const auto byte = static_cast<unsigned char>(c);
    text[size++] = byte < 0x20 || byte == 0x7f ? '?' : c;
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
