// Threads throw out of calls, and libunwind follows their stacks from callbacks and from a signal's
// handler: all lead back to the thread's beginning, through whoever stands between.
#define UNW_LOCAL_ONLY
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

constexpr int thread_count = 8;
constexpr int wanted_samples = 300;
constexpr int wanted_turns = 100;

struct Walk {
  std::array<void*, 64> frames;  // as far as it came; null where it was shorter
};

std::atomic<bool> stop{false};
std::atomic<int> ready{0}, samples{0}, from_callbacks{0}, whole_from_callbacks{0}, caught{0};
std::array<Walk, wanted_samples> broken;
std::atomic<std::size_t> broken_count{0};

void* begin_of_thread(void*);

bool leads_to_begin(unw_cursor_t& cursor, Walk& walk) {
  walk = {};
  std::size_t depth = 0;
  do {
    unw_proc_info_t info{};
    unw_word_t address = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &address);
    if (depth < walk.frames.size()) walk.frames[depth++] = reinterpret_cast<void*>(address);
    if (unw_get_proc_info(&cursor, &info) == 0 &&
        info.start_ip == reinterpret_cast<unw_word_t>(&begin_of_thread)) {
      return true;
    }
  } while (unw_step(&cursor) > 0);
  return false;
}

void sample(int, siginfo_t*, void* interrupted) {
  unw_cursor_t cursor;
  Walk walk;
  unw_init_local2(&cursor, static_cast<unw_context_t*>(interrupted), UNW_INIT_SIGNAL_FRAME);
  if (!leads_to_begin(cursor, walk)) {
    const std::size_t number = broken_count++;
    if (number < broken.size()) broken[number] = walk;
  }
  ++samples;
}

// Whether a library that stands between the program and what it calls is where the walk ended.
bool broke_under_a_call(const Walk& walk) {
  return std::any_of(walk.frames.begin(), walk.frames.end(), [](void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 &&
           (std::strstr(info.dli_fname, "libtraceagent") != nullptr ||
            std::strstr(info.dli_fname, "libcudart") != nullptr);
  });
}

void look_and_throw(void* turn) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  Walk walk;
  whole_from_callbacks += leads_to_begin(cursor, walk) ? 1 : 0;
  ++from_callbacks;
  if (*static_cast<int*>(turn) % 2 == 0) throw std::runtime_error("out of a call");
}

void* begin_of_thread(void*) {
  call_often();
  ++ready;
  for (int turn = 0; turn < wanted_turns || !stop.load(); ++turn) {
    try {
      cudaLaunchHostFunc(nullptr, look_and_throw, &turn);
    } catch (const std::exception&) {
      if (turn < wanted_turns) ++caught;
    }
    call_often(2);
  }
  return nullptr;
}

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_sigaction = sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  // What libunwind opens has its number before anybody else opens anything.
  std::raise(SIGUSR1);
  broken_count.store(0);
  std::vector<pthread_t> threads(thread_count);
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, begin_of_thread, nullptr);
  while (ready.load() < thread_count) usleep(1'000);
  for (int i = 0; samples.load() < wanted_samples; ++i) {
    pthread_kill(threads[static_cast<std::size_t>(i % thread_count)], SIGUSR1);
    usleep(100);
  }
  stop.store(true);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  // A few are cut short where the unwinder itself is interrupted, also alone.
  const std::size_t cut = broken_count.load();
  const auto under_a_call = std::count_if(broken.begin(), broken.end(), broke_under_a_call);
  say("stacks that lead nowhere: from callbacks %d, from handlers under a call %d, else %s\n",
      from_callbacks - whole_from_callbacks, static_cast<int>(under_a_call),
      cut * 20 < static_cast<std::size_t>(samples.load()) ? "few" : "many");
  say("caught %d, then %d\n", caught.load(), call_often());
  say_state("end");
  return 3;
}
