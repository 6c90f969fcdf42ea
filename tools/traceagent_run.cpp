// The wrapper for launchers: mpirun -n 8 traceagent-run python train.py
#include "tools/command_line.hpp"

int main(int argc, char** argv) {
  return traceagent::tools::run_main("traceagent-run", argc, argv);
}
