// A signal handler that records, at each instruction of what a thread does with the ring: of a
// claim that needs another chunk, and of the thread's end. One run for each instruction: the
// processor stops after every one, and the handler records at the one that is asked for.
#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <thread>

#include "tests/unit/ring/recording.hpp"

// ThreadSanitizer's own runtime would be stepped through, and interrupted.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <x86intrin.h>

namespace traceagent::ring {
namespace {

constexpr unsigned long long trap_flag = 0x100;
int steps;
int interrupted_step;

void on_step(int, siginfo_t*, void* context) {
  if (++steps != interrupted_step) return;
  record(2, 2);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
}

void begin_steps() { __writeeflags(__readeflags() | trap_flag); }
void end_steps(void* = nullptr) { __writeeflags(__readeflags() & ~trap_flag); }

class InterruptedWriterTest : public RecordingTest {
 protected:
  InterruptedWriterTest() {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
    record_into(memory_.ring());  // which makes the agent's key: ours is destroyed after it
    pthread_key_create(&stepping_, end_steps);
  }
  ~InterruptedWriterTest() override {
    pthread_key_delete(stepping_);
    sigaction(SIGTRAP, &before_, nullptr);
  }

  // For each instruction between begin_steps() and end_steps(), in a thread and a ring of its own.
  template <class Run>
  void interrupt_each(std::uint64_t recorded, const Run& run) {
    if (!steps_are_told()) GTEST_SKIP() << "no signal comes after an instruction here: a debugger?";
    std::uint64_t refused = 0;
    bool reached = true;
    for (interrupted_step = 1; reached; ++interrupted_step) {
      MemoryRing memory(512 * 1024);
      record_into(memory.ring());
      steps = 0;
      std::thread(run).join();
      reached = steps == interrupted_step;
      refused += memory.dropped(DropCause::ring_full);
      look_at(memory, reached ? recorded + 1 : recorded);
      if (HasFailure()) return;
    }
    EXPECT_GT(refused, 0u) << "what may not be interrupted was not stepped through";
  }

  // What the thread ran into before its end, while other destructors may still record.
  void step_through_end() const {
    pthread_setspecific(stepping_, this);
    begin_steps();
  }

 private:
  static bool steps_are_told() {
    steps = interrupted_step = 0;
    begin_steps();
    end_steps();
    return steps > 0;
  }

  static void look_at(const MemoryRing& memory, std::uint64_t recorded) {
    EXPECT_EQ(published(memory.ring()) + memory.dropped(DropCause::ring_full), recorded)
        << "interrupted after instruction " << interrupted_step;
    for (std::uint64_t i = 0; i < memory.ring().chunk_count(); ++i) {
      EXPECT_NE(memory.ring().chunk(i).state.load(), ChunkState::owned)
          << "chunk " << i << ", interrupted after instruction " << interrupted_step;
    }
  }

  MemoryRing memory_{1 << 20};
  pthread_key_t stepping_;
  struct sigaction before_;
};

TEST_F(InterruptedWriterTest, TakesAnotherChunk) {
  interrupt_each(records_per_chunk + 1, [] {
    for (std::uint64_t i = 0; i < records_per_chunk; ++i) record(1, 1);
    begin_steps();
    record(1, 1);
    end_steps();
  });
}

TEST_F(InterruptedWriterTest, GivesItsChunkBackAtTheThreadsEnd) {
  interrupt_each(1, [this] {
    record(1, 1);
    step_through_end();
  });
}

TEST_F(InterruptedWriterTest, GivesAFullChunkBackAtTheThreadsEnd) {
  interrupt_each(records_per_chunk, [this] {
    for (std::uint64_t i = 0; i < records_per_chunk; ++i) record(1, 1);
    step_through_end();
  });
}

}  // namespace
}  // namespace traceagent::ring

#endif
