// Fibres that switch stacks in the middle of a call and end in another order.
#include <cuda_runtime_api.h>
#include <ucontext.h>

#include <array>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
constexpr int fibre_count = 8;
constexpr std::size_t stack_bytes = 64 * 1024;
std::array<ucontext_t, fibre_count> fibres;
alignas(16) char stacks[fibre_count][stack_bytes];
ucontext_t scheduler;
int current = 0;
int switches = 0;

void leave(void*) {
  ++switches;
  swapcontext(&fibres[static_cast<std::size_t>(current)], &scheduler);
}

void work_in_fibre() {
  for (int i = 0; i < 50; ++i) cudaLaunchHostFunc(nullptr, leave, nullptr);
}
}  // namespace

int main() {
  call_often();
  for (std::size_t i = 0; i < fibre_count; ++i) {
    getcontext(&fibres[i]);
    fibres[i].uc_stack.ss_sp = stacks[i];
    fibres[i].uc_stack.ss_size = stack_bytes;
    fibres[i].uc_link = &scheduler;
    makecontext(&fibres[i], work_in_fibre, 0);
  }
  // Uneven turns: the order in which calls end is not the one in which they began.
  for (int turn = 0; turn < 51; ++turn) {
    for (int i = 0; i < fibre_count; ++i) {
      current = (i * 3) % fibre_count;
      swapcontext(&scheduler, &fibres[static_cast<std::size_t>(current)]);
    }
  }
  say("switches %d, then %d\n", switches, call_often());
  say_state("end");
  return 3;
}
