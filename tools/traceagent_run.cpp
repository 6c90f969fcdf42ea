// The wrapper for launchers: mpirun -n 8 traceagent-run python train.py
#include "tools/command_line.hpp"
#include "tools/out_of_memory.hpp"

[[gnu::constructor(101)]] static void prepare_to_terminate() noexcept {
  traceagent::tools::end_with_a_line_at_terminate();
}

int main(int argc, char** argv) {
  return traceagent::tools::run_main("traceagent-run", argc, argv);
}
