#include "agent/process/dead_workers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "agent/drain/file_names.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace {
std::atomic<long> passed_s = 0;
}  // namespace

// In the place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_MONOTONIC) now->tv_sec += passed_s.load();
  return static_cast<int>(result);
}

namespace traceagent::process {
namespace {

class DeadWorkersTest : public ::testing::Test {
 protected:
  // Neither its window's file nor the one that waits for the queue finds a place.
  DeadWorkersTest() {
    std::filesystem::create_directories(agent_.run_folder.path = scratch_ / "run");
    agent_.ring.path = agent_.run_folder.path + "/0-1-0.ring";
    agent_.identity.rank = agent_.trace_pid = agent_.identity.local_rank = 0;
    agent_.options.ring_size = 0;  // none may wait for the end
    ring::Header& header = worker_.ring().header();
    header.identity.trace_pid = 1'000'003;
    header.identity.overwrite_files = 1;
    header.identity.options_json =
        worker_.ring().add_name(R"({"output.remote":"/there/","merge.mode":"off"})");
    worker_.add(worker_.chunk_of(100, "main"), api::Function::cudaLaunchKernel,
                event::Layout::launch, 2000, 2050);
    const ring::Window& window = worker_.window(1500, 3000, 0, 1);
    in_the_way_ = drain::rank_file_name(worker_.ring(), window).path;
    std::filesystem::create_directories(in_the_way_ + "/x");
    trace::write_whole(trace::upload_folder(folder_), "");
    header.ready = 1;
    header.identity.checksum = ring::identity_checksum(worker_.ring());
    trace::write_whole(ring_path_, {reinterpret_cast<const char*>(&header), header.file_bytes});
    const trace::JsonObject waiting =
        drain::rank_file_upload(worker_.ring(), window, folder_ + "/a.json").record;
    ring::note_waiting_upload(ring_path_, waiting.text());
    ring::note_written_file(ring_path_, folder_ + "/a.json");
  }
  ~DeadWorkersTest() override { passed_s = 0; }

  void make_way() const {
    std::filesystem::remove_all(in_the_way_);
    std::filesystem::remove(trace::upload_folder(folder_));
  }

  // Some seconds later.
  std::string said_at_look_after(long seconds) {
    passed_s += seconds;
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    look_at_error_output();
    workers_.look(agent_);
    dup2(before, STDERR_FILENO);
    look_at_error_output();
    char text[8192];
    const ssize_t got = read(ends[0], text, sizeof text);
    for (const int fd : {before, ends[0], ends[1]}) close(fd);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }
  bool is_there() const { return std::filesystem::exists(ring_path_); }

  trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "out", ring_path_ = scratch_ / "run/3-4242-0.ring";
  drain::CraftedRing worker_{folder_};
  std::string in_the_way_;
  Agent agent_;
  DeadWorkers workers_;
};

TEST_F(DeadWorkersTest, WhatCannotBeWrittenIsToldOnceAndTriedAgain) {
  const std::string first = said_at_look_after(0);
  EXPECT_NE(first.find("/a.json: it is not queued"), std::string::npos) << first;
  EXPECT_TRUE(is_there());
  for (int look = 0; look < 3; ++look) EXPECT_EQ(said_at_look_after(100), "");
  EXPECT_TRUE(is_there());
  make_way();
  EXPECT_EQ(said_at_look_after(100), "");
  EXPECT_FALSE(is_there());
  EXPECT_TRUE(std::filesystem::is_regular_file(in_the_way_));
}

}  // namespace
}  // namespace traceagent::process
