#pragma once

#include <gtest/gtest.h>
#include <nccl.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/sim/truth_records.hpp"

namespace traceagent::sim_test {

inline constexpr int ranks = 2;

inline std::filesystem::path truth_of(const std::string& test, int rank) {
  return scratch() / (test + std::to_string(rank) + ".truth");
}

// Each rank is a process of its own. The children are forked before this process uses the
// simulation; an id need only be the same everywhere.
template <class Body>
void on_each_rank(const std::string& test, Body body, const std::string& script = "") {
  ncclUniqueId id{};
  std::snprintf(id.internal, sizeof id.internal, "unit_sim %d %s", getpid(), test.c_str());
  scratch();  // made by this process, not by a child
  const std::string script_path = scratch() / (test + ".yaml");
  std::ofstream(script_path) << script;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("SIMGPU_TRUTH", truth_of(test, rank).c_str(), 1);
      setenv("SIMGPU_SCRIPT", script.empty() ? "" : script_path.c_str(), 1);
      setenv("RANK", std::to_string(rank).c_str(), 1);
      ncclComm_t comm = nullptr;
      const bool good = ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess &&
                        body(rank, comm) && ncclCommDestroy(comm) == ncclSuccess;
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

inline std::vector<const simgpu::Record*> device_work(const TruthRecords& truth,
                                                      std::uint16_t function) {
  return truth.select([=](const simgpu::Record& r) {
    return r.kind == simgpu::RecordKind::device && r.library == simgpu::Library::nccl &&
           r.function == function;
  });
}

}  // namespace traceagent::sim_test
