#include "tools/ending_signals.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace traceagent::tools {

namespace {

// SIGPIPE: who reads what is printed has read enough (head). SIGXCPU: ulimit -t. SIGALRM: the
// agent, which has started this, waits no longer (merge.timeout).
constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM};

// A path that the handler removes.
struct Guarded {
  std::array<char, PATH_MAX> path{};
  std::atomic<bool> is_set = false;

  void set(const std::string& to) {
    if (to.size() >= path.size()) return;
    std::memcpy(path.data(), to.c_str(), to.size() + 1);
    is_set = true;
  }
};

Guarded guarded_folder;
Guarded guarded_file;
std::atomic<bool> has_signal = false;

// No link is followed: where others may write, one to another folder may stand here by now.
int open_folder(const char* path) noexcept {
  return ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// In a handler: readdir() allocates, its system call does not.
void unlink_files_of(int folder) {
  alignas(8) static char entries[4096];
  long bytes = 0;
  while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < bytes;) {
      unsigned short size = 0;
      std::memcpy(&size, entries + at + offsetof(dirent64, d_reclen), sizeof size);
      unlinkat(folder, entries + at + offsetof(dirent64, d_name), 0);
      at += size;
    }
  }
}

// Other threads may make files meanwhile; in a folder that is gone they cannot.
void remove_guarded_folder() {
  for (int tries = 0; tries < 1000; ++tries) {
    const int folder = open_folder(guarded_folder.path.data());
    if (folder < 0) break;
    unlink_files_of(folder);
    ::close(folder);
    if (rmdir(guarded_folder.path.data()) == 0) break;
  }
}

void remove_and_end(int signal_number) {
  has_signal = true;  // before anything is gone
  if (guarded_folder.is_set) remove_guarded_folder();
  // Last: another thread may make it meanwhile. It takes no name any more.
  if (guarded_file.is_set) ::unlink(guarded_file.path.data());
  ::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = remove_and_end;
  for (const int each : ending_signals) sigaddset(&action.sa_mask, each);
  for (const int each : ending_signals) {
    struct sigaction before {};
    if (sigaction(each, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(each, &action, nullptr);
    }
  }
}

void leave_signals() {
  if (guarded_folder.is_set || guarded_file.is_set) return;
  for (const int each : ending_signals) {
    struct sigaction before {};
    if (sigaction(each, nullptr, &before) == 0 && before.sa_handler == remove_and_end) {
      ::signal(each, SIG_DFL);
    }
  }
}

// As trace::OutputFile names it.
std::string half_written(const std::string& output) {
  const std::size_t name = output.rfind('/') + 1;  // npos + 1 is 0
  return output.substr(0, name) + "." + output.substr(name) + ".tmp-" + std::to_string(getpid());
}

}  // namespace

bool is_ending() noexcept { return has_signal; }

// A signal that came between the two would leave the folder.
bool make_guarded_folder(std::string& folder) {
  sigset_t ending;
  sigset_t before;
  sigemptyset(&ending);
  for (const int each : ending_signals) sigaddset(&ending, each);
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  const bool is_made = mkdtemp(folder.data()) != nullptr;
  const int error = errno;
  if (is_made) {
    guarded_folder.set(folder);
    catch_signals();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return is_made;
}

void unguard_folder(const std::string& folder) {
  if (!guarded_folder.is_set || folder != guarded_folder.path.data()) return;
  guarded_folder.is_set = false;
  leave_signals();
}

// What is there already is of another container's process, of the same number: not ours to remove.
GuardedOutput::GuardedOutput(const std::string& output) {
  const std::string path = half_written(output);
  struct stat facts {};
  if (lstat(path.c_str(), &facts) == 0) return;
  guarded_file.set(path);
  catch_signals();
}

GuardedOutput::~GuardedOutput() {
  guarded_file.is_set = false;
  leave_signals();
}

}  // namespace traceagent::tools
