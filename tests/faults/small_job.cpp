// The shortest job that brings the agent to most of its calls: every door, two windows with a pause
// in which the first is written, a thread, a forked child that makes calls of its own, a file of
// the job's. It ends with 3, and says so where a call changed errno.
//
//   small_job                     alone
//   small_job child_killed        its child dies of SIGKILL after its calls
//   small_job terminated          ends by the SIGTERM that it sends itself in its eighth step
//   small_job slowly              with longer pauses
//   small_job limited             with a limit on its memory
//   small_job in_a_thread         in one that is bound to a processor, and ends the process; main
//                                 has ended before
//   small_job exchanging          also sends to itself, and its communicator ends
//   small_job log                 its standard error becomes a file that it appends to
//   small_job one_output          its standard error becomes its standard output
//   small_job ends_twice          another thread calls exit while the first is in it
//   small_job daemons             two children live at a time; one has closed all its files
//   small_job crowd               more children live at a time than the first look for a number
//   small_job workers_killed      three children die of SIGKILL, and it lives on for 12 s
//   small_job ranks N             N of it, without children: each a rank of the job
//   small_job ranks_killed N      the last of these dies of SIGKILL in its eighth step
//   small_job ranks_holes N       as before, and holes are made in the dead rank's ring, as a copy
//   has them small_job ranks_zero_last N   rank zero runs on when the others have ended
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

constexpr int steps = 10;
constexpr int pause_us = 3000;  // the warm-up is long enough to switch CUPTI on
constexpr int fork_after = 5;   // and a longer pause, in which the first window is written
constexpr int end_after = 7;    // where it is to die: after the second window
constexpr int unusual_errno = 4711;
int changed = 0;

template <class Call>
void check(const char* what, Call call) {
  errno = unusual_errno;
  const int result = static_cast<int>(call());
  if (result != 0) std::printf("%s: %d\n", what, result);
  changed += errno == unusual_errno ? 0 : 1;
}

struct Device {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t alone = nullptr;
  bool exchanges = false;

  Device() {
    ncclUniqueId id{};
    check("malloc", [&] { return cudaMalloc(&memory, 4096); });
    check("stream", [&] { return cudaStreamCreate(&stream); });
    check("id", [&] { return ncclGetUniqueId(&id); });
    check("communicator", [&] { return ncclCommInitRank(&alone, 1, id, 0); });
  }

  void step(const Kernel& kernel) const {
    nvtxRangePushA("step");
    kernel.launch(stream, 1, 32);
    check("reduce",
          [&] { return ncclAllReduce(memory, memory, 16, ncclFloat32, ncclSum, alone, stream); });
    if (exchanges) exchange();
    std::thread([&] {
      check("set", [&] { return cudaMemsetAsync(memory, 0, 64, stream); });
    }).join();
    check("synchronize", [] { return cudaDeviceSynchronize(); });
    nvtxRangePop();
  }

  void exchange() const {
    check("group", [] { return ncclGroupStart(); });
    check("send", [&] { return ncclSend(memory, 16, ncclFloat32, 0, alone, stream); });
    check("receive", [&] { return ncclRecv(memory, 16, ncclFloat32, 0, alone, stream); });
    check("group's end", [] { return ncclGroupEnd(); });
  }
};

void fork_child(bool is_killed) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    int device = 0;
    // They fail, and are calls.
    for (int i = 0; i < 3; ++i) cudaMemsetAsync(&device, 0, sizeof device, nullptr);
    if (is_killed) std::raise(SIGKILL);
    _exit(5);
  }
  int status = 0;
  const bool is_waited = child > 0 && waitpid(child, &status, 0) == child;
  std::printf("child %d\n", is_waited ? status : -1);
}

// They call, and are killed then.
void kill_workers() {
  for (int i = 0; i < 3; ++i) fork_child(true);
}

// Of both the memory is their own, and the second one looks for a place beside the first.
void fork_daemons() {
  std::fflush(nullptr);
  int begun[2], ended[2];
  if (pipe(begun) != 0 || pipe(ended) != 0) return;
  const auto live = [&](bool closes_all) {
    int device = 0;
    cudaMemsetAsync(&device, 0, sizeof device, nullptr);
    const int tells = fcntl(begun[1], F_DUPFD, 3), hears = fcntl(ended[0], F_DUPFD, 3);
    for (int fd = 3; fd < 1024 && closes_all; ++fd) {
      if (fd != tells && fd != hears) close(fd);
    }
    char byte = 0;
    const bool is_told = write(tells, &byte, 1) == 1;
    if (!closes_all) close(ended[1]);
    if (is_told && read(hears, &byte, 1) < 0) _exit(6);
    _exit(5);
  };
  std::vector<pid_t> children;
  for (const bool closes_all : {true, false}) {
    children.push_back(fork());
    if (children.back() == 0) live(closes_all);
    char byte = 0;
    if (read(begun[0], &byte, 1) != 1) break;
  }
  close(ended[1]);
  for (const pid_t child : children) {
    int status = 0;
    const bool is_waited = child > 0 && waitpid(child, &status, 0) == child;
    std::printf("daemon %d\n", is_waited ? status : -1);
  }
  for (const int fd : {begun[0], begun[1], ended[0]}) close(fd);
}

// All of them live until the last one has called.
void fork_crowd() {
  constexpr int children = 66;
  std::fflush(nullptr);
  int called[2], ended[2];
  if (pipe(called) != 0 || pipe(ended) != 0) return;
  char byte = 0;
  for (int i = 0; i < children; ++i) {
    if (fork() != 0) continue;
    int device = 0;
    cudaMemsetAsync(&device, 0, sizeof device, nullptr);
    close(ended[1]);
    const bool is_told = write(called[1], &byte, 1) == 1;
    _exit(is_told && read(ended[0], &byte, 1) == 0 ? 5 : 6);
  }
  for (int i = 0; i < children; ++i) {
    if (read(called[0], &byte, 1) != 1) break;
  }
  close(ended[1]);
  int well = 0, status = 0;
  while (wait(&status) > 0) well += WIFEXITED(status) && WEXITSTATUS(status) == 5;
  std::printf("%d of a crowd\n", well);
  for (const int fd : {called[0], called[1], ended[0]}) close(fd);
}

void write_file(const char* name, int step) {
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dprintf(file, "step %d\n", step);
  close(file);
}

struct Way {
  const char* file = "own.txt";
  bool has_child = true;
  bool child_is_killed = false;
  int last_signal = 0;
  int last_pause_us = 0;
  int slowness = 1;
  bool exchanges = false;
  void (*has_forked)() = nullptr;  // in place of the child
};

int run(const Way& way) {
  const Kernel kernel("small");
  {
    Device device;
    device.exchanges = way.exchanges;
    for (int step = 0; step < steps; ++step) {
      device.step(kernel);
      write_file(way.file, step);
      usleep(way.slowness * (step == fork_after ? 15 * pause_us : pause_us));
      if (step == fork_after && way.has_child) fork_child(way.child_is_killed);
      if (step == fork_after && way.has_forked != nullptr) way.has_forked();
      if (step == end_after && way.last_signal != 0) std::raise(way.last_signal);
    }
    if (way.exchanges) check("destroy", [&] { return ncclCommDestroy(device.alone); });
    check("free", [&] { return cudaFree(device.memory); });
    usleep(way.last_pause_us);
  }
  std::printf("errno changed %d times\n", changed);
  return 3;
}

// Where there are zeros, as `cp --sparse` does.
void make_holes(const std::filesystem::path& file) {
  constexpr std::size_t page_bytes = 4096;
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
  std::array<char, page_bytes> page{}, zeros{};
  for (off_t at = 0; pread(fd, page.data(), page_bytes, at) == page_bytes; at += page_bytes) {
    if (page == zeros) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, page_bytes);
  }
  close(fd);
}

void make_holes_in_ring_of(int rank) {
  const char* rings = std::getenv("TRACEAGENT_RING_FOLDER");
  if (rings == nullptr) return;
  const std::string begin = std::to_string(rank) + "-";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(rings)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(begin) && name.ends_with(".ring")) make_holes(entry.path());
  }
}

struct Ranks {
  int count = 1;
  bool last_is_killed = false;
  bool makes_holes = false;
  int zero_pause_us = 0;
};

// Makes no call itself: it is what a launcher is.
int run_ranks(const Ranks& how) {
  const std::string size = std::to_string(how.count);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < how.count; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() != 0) continue;
    const std::string number = std::to_string(rank);
    for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, number.c_str(), 1);
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, size.c_str(), 1);
    const std::string file = "own" + number + ".txt";
    const bool is_killed = how.last_is_killed && rank == how.count - 1;
    std::exit(run(
        {file.c_str(), false, false, is_killed ? SIGKILL : 0, rank == 0 ? how.zero_pause_us : 0}));
  }
  siginfo_t ended;
  if (how.makes_holes &&
      waitid(P_PID, static_cast<id_t>(ranks.back()), &ended, WEXITED | WNOWAIT) == 0) {
    make_holes_in_ring_of(how.count - 1);
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    const bool is_waited = rank > 0 && waitpid(rank, &status, 0) == rank;
    std::printf("rank %d\n", is_waited ? status : -1);
  }
  return 3;
}

// Before all others there, where the machine allows it.
void bind_to_one_processor() {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_RR);
  sched_setscheduler(0, SCHED_RR, &lowest);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
}

[[noreturn]] void run_in_thread() {
  std::thread([] {
    bind_to_one_processor();
    usleep(10 * pause_us);  // main ends meanwhile
    std::exit(run({"own.txt", false}));
  }).detach();
  pthread_exit(nullptr);
}

// Registered last, and so called before the agent's.
void let_another_exit() {
  std::atexit([] {
    std::thread([] {
      usleep(20 * pause_us);
      std::exit(3);
    }).detach();
  });
}

// Its own lines are in own.txt.
void move_error_output(bool to_log) {
  const int log = to_log ? open("said.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  dup2(to_log ? log : STDOUT_FILENO, STDERR_FILENO);
  if (to_log) close(log);
}

void limit_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t{8} << 30;
  setrlimit(RLIMIT_AS, &limit);
}

int run_as_told(std::string_view how, int count) {
  if (how.starts_with("ranks")) {
    const bool holes = how == "ranks_holes", zero_last = holes || how == "ranks_zero_last";
    return run_ranks(
        {count, holes || how == "ranks_killed", holes, zero_last ? 300 * pause_us : 0});
  }
  if (how == "in_a_thread") run_in_thread();
  if (how == "limited") limit_memory();
  Way way;
  way.slowness = how == "slowly" ? 4 : 1;
  way.child_is_killed = how == "child_killed";
  way.last_signal = how == "terminated" ? SIGTERM : 0;
  way.exchanges = how == "exchanging";
  if (how == "log" || how == "one_output") move_error_output(how == "log");
  if (how == "daemons") way.has_forked = fork_daemons;
  if (how == "crowd") way.has_forked = fork_crowd;
  if (how == "workers_killed") way.has_forked = kill_workers;
  way.has_child = way.has_forked == nullptr;
  way.last_pause_us = how == "workers_killed" ? 12'000'000 : 0;
  // Called after the agent's: the process is still there when the other thread has been waited for.
  if (how == "ends_twice") std::atexit([] { usleep(50 * pause_us); });
  const int code = run(way);
  if (how == "ends_twice") let_another_exit();
  return code;
}

}  // namespace
}  // namespace traceagent::programs

// Where it is a library: what opens it calls this.
extern "C" [[gnu::visibility("default")]] int run_small_job(int argc, char** argv) {
  return traceagent::programs::run_as_told(argc > 1 ? argv[1] : "",
                                           argc > 2 ? std::atoi(argv[2]) : 1);
}

int main(int argc, char** argv) { return run_small_job(argc, argv); }
