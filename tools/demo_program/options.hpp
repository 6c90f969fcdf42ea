#pragma once

#include <string>

namespace traceagent::demo {

struct Options {
  int steps = 30;
  int batch = 64;
  int hidden = 256;
  int print_every = 10;
  bool nvtx = true;
  std::string rendezvous;  // empty: a folder that all ranks of this launch find by themselves
};

/// Reads the command line; prints help or a usage error and ends the process where that is due.
Options read_options(int argc, char** argv);

}  // namespace traceagent::demo
