#include "tools/demo_program/options.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace traceagent::demo {
namespace {

constexpr const char* help =
    "usage: train_demo [options]\n"
    "\n"
    "A small data-parallel training loop in CUDA C++: four layers, forward, backward with one\n"
    "all-reduce per layer overlapped on a second stream, an optimizer, and a thread that loads\n"
    "batches. Rank and size come from mpirun, torchrun or Slurm; without them it runs alone.\n"
    "\n"
    "  --steps N         training steps (default 30)\n"
    "  --batch N         samples per rank and step (default 64)\n"
    "  --hidden N        width of the layers (default 256)\n"
    "  --print-every N   rank 0 prints the loss every N steps (default 10)\n"
    "  --rendezvous DIR  folder that all ranks see, to exchange NCCL's id\n"
    "                    (default: one in /dev/shm or TMPDIR named after the launch)\n"
    "  --no-nvtx         no NVTX ranges\n"
    "  --help            this text\n"
    "\n"
    "Examples:\n"
    "  train_demo --steps 5\n"
    "  mpirun -n 4 train_demo\n"
    "  torchrun --no-python --nproc-per-node 4 train_demo --steps 100\n"
    "  LD_LIBRARY_PATH=build/sim/lib:build/sim/cupti mpirun -n 4 build/bin/train_demo   (no GPU "
    "needed)\n";

[[noreturn]] void usage_error(const char* what, const char* value) {
  std::fprintf(stderr, "train_demo: %s: %s: see train_demo --help\n", what, value);
  std::exit(2);
}

int positive(const char* option, const char* text) {
  char* end = nullptr;
  const long value = text == nullptr ? 0 : std::strtol(text, &end, 10);
  if (value < 1 || value > 1'000'000'000 || *end != '\0') {
    usage_error("wants a number from 1 on", option);
  }
  return static_cast<int>(value);
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--help" || name == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    } else if (name == "--no-nvtx") {
      options.nvtx = false;
      continue;
    } else if (name == "--steps") {
      options.steps = positive(argv[i], value);
    } else if (name == "--batch") {
      options.batch = positive(argv[i], value);
    } else if (name == "--hidden") {
      options.hidden = positive(argv[i], value);
    } else if (name == "--print-every") {
      options.print_every = positive(argv[i], value);
    } else if (name == "--rendezvous" && value != nullptr) {
      options.rendezvous = value;
    } else {
      usage_error("unknown option or missing value", argv[i]);
    }
    ++i;
  }
  return options;
}

}  // namespace traceagent::demo
