// Runs itself where nobody may start a process or become another program: that ends it with SIGSYS.
// So not only what the job's calls do is seen, but also what the library does when it is loaded and
// at the end.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

constexpr char own_path[] = "/proc/self/exe";

constexpr std::uint32_t argument(int number) {
  return offsetof(seccomp_data, args) + 8 * static_cast<std::uint32_t>(number);
}

bool forbid_processes() {
  const auto path = reinterpret_cast<std::uintptr_t>(own_path);
  constexpr std::uint32_t kill = SECCOMP_RET_KILL_PROCESS;
  // Of clone only the flags can be looked at; libc takes it for its threads where clone3 is not
  // known.
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kill),
#ifdef SYS_fork
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kill),
#endif
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 6, 0),
      BPF_STMT(BPF_RET | BPF_K, kill),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 4),
      // Only by this very pointer, which is another one in the next life.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(path), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(path >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, kill),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc == 1) {
    if (!forbid_processes()) return 77;
    execl(own_path, "starts_no_process", "again", nullptr);
    return 9;
  }
  say("calls %d, device %d, then %d\n", call_often(), use_device(), call_often(500));
  say_state("end");
  return 3;
}
