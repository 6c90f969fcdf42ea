#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "tools/demo_program/check.hpp"
#include "tools/demo_program/data_loader.hpp"
#include "tools/demo_program/options.hpp"
#include "tools/demo_program/ranks.hpp"
#include "tools/demo_program/rendezvous.hpp"
#include "tools/demo_program/trainer.hpp"

namespace traceagent::demo {
namespace {

// More ranks than devices share them, which real NCCL refuses unless NCCL_HOSTID tells them apart.
int choose_device(const Ranks& ranks) {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  const int device = ranks.local_rank % count;
  CHECK(cudaSetDevice(device));
  return device;
}

ncclComm_t connect(const Ranks& ranks, const std::string& wanted_folder) {
  ncclUniqueId id;
  std::memset(&id, 0, sizeof id);
  if (ranks.rank == 0) {
    CHECK(ncclGetUniqueId(&id));
  }
  const std::string mine(reinterpret_cast<const char*>(&id), sizeof id);
  const std::string agreed = exchange(ranks, rendezvous_folder(ranks, wanted_folder), mine);
  std::memcpy(&id, agreed.data(), sizeof id);
  ncclComm_t comm = nullptr;
  CHECK(ncclCommInitRank(&comm, ranks.size, id, ranks.rank));
  return comm;
}

void train(const Options& options, const Ranks& ranks, int device, ncclComm_t comm) {
  Trainer trainer(options, ranks, comm);
  DataLoader loader(device, ranks.rank, options.batch * options.hidden, options.steps);
  for (int step = 1; step <= options.steps; ++step) {
    trainer.step(loader, step);
    if (step % options.print_every == 0 || step == options.steps) {
      const float loss = trainer.take_loss();
      if (ranks.rank == 0) {
        std::printf("step %d of %d: loss %.4f\n", step, options.steps, loss);
      }
    }
  }
}

void run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const Ranks ranks = read_ranks();
  const int device = choose_device(ranks);
  ncclComm_t comm = connect(ranks, options.rendezvous);
  if (ranks.rank == 0) {
    std::printf("training on %d rank%s, %d layers of %d x %d\n", ranks.size,
                ranks.size == 1 ? "" : "s", Trainer::layers, options.hidden, options.hidden);
  }
  train(options, ranks, device, comm);
  CHECK(ncclCommDestroy(comm));
  if (ranks.rank == 0) {
    std::printf("done\n");
  }
}

}  // namespace
}  // namespace traceagent::demo

int main(int argc, char** argv) {
  try {
    traceagent::demo::run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "train_demo: %s\n", problem.what());
    return 1;
  }
  return 0;
}
