// A seccomp filter, installed before or after the first call, that answers a group of system calls
// with EPERM, as most do, or with ENOSYS, as a kernel that is older.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

struct Group {
  const char* name;
  std::vector<unsigned> numbers;
};

const Group groups[] = {
    {"memory_files", {SYS_memfd_create, SYS_fallocate, SYS_ftruncate}},
    {"make_files",
     {SYS_mkdir, SYS_mkdirat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_unlink, SYS_unlinkat,
      SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat}},
    {"open_files", {SYS_open, SYS_openat, SYS_openat2, SYS_creat}},
    {"look_at_files",
     {SYS_stat, SYS_lstat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
      SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink, SYS_readlinkat, SYS_getdents64,
      SYS_getcwd}},
    {"descriptors", {SYS_fcntl, SYS_dup, SYS_dup2, SYS_dup3, SYS_flock}},
    {"threads", {SYS_clone, SYS_clone3}},
    {"identity",
     {SYS_getppid, SYS_getpgid, SYS_getsid, SYS_uname, SYS_getuid, SYS_geteuid, SYS_sysinfo,
      SYS_prlimit64, SYS_getrlimit, SYS_getrusage}},
    {"scheduling",
     {SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_getparam,
      SYS_sched_getscheduler, SYS_prctl}},
    {"signals",
     {SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_poll, SYS_ppoll, SYS_kill, SYS_tgkill}},
    {"random", {SYS_getrandom}},
    {"pauses", {SYS_nanosleep, SYS_clock_nanosleep, SYS_sched_yield}},
    {"memory_maps", {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_msync}},
    {"transfers",
     {SYS_read, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_lseek, SYS_fsync,
      SYS_fdatasync, SYS_close_range, SYS_sendfile, SYS_copy_file_range}},
    {"handlers", {SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sigaltstack}},
    {"clocks", {SYS_clock_getres, SYS_clock_gettime, SYS_gettimeofday}},
};

bool refuse(const std::vector<unsigned>& numbers, unsigned error) {
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const unsigned number : numbers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int, char** argv) {
  const unsigned error = std::strcmp(argv[3], "ENOSYS") == 0 ? ENOSYS : EPERM;
  if (std::strcmp(argv[2], "after") == 0) call_often();
  for (const Group& group : groups) {
    if (std::strcmp(group.name, argv[1]) != 0) continue;
    if (!refuse(group.numbers, error)) return 77;
    say("calls %d\n", call_often());
    say("then %d\n", call_often(500));
    say_state("end");
    return 3;
  }
  return 2;
}
