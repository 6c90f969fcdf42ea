// The parts of "traceagent check".
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/agent_library.hpp"
#include "tools/check_report.hpp"
#include "tools/contained.hpp"
#include "tools/elf_needed.hpp"
#include "tools/trace_files.hpp"

namespace traceagent::tools {
namespace {

TEST(Contained, gives_what_was_written) {
  const Contained result = run_contained([] {
    std::printf("out");
    std::fflush(stdout);
    std::fprintf(stderr, "err");
  });
  EXPECT_EQ(result.output, "outerr");
  EXPECT_EQ(result.failure, "");
}

TEST(Contained, survives_crashes_hangs_and_bad_ends) {
  EXPECT_EQ(run_contained([] {
              signal(SIGSEGV, SIG_DFL);
              raise(SIGSEGV);
            }).failure,
            "crashed by signal 11");
  EXPECT_EQ(run_contained([] { _exit(3); }).failure, "exit code 3");
  const Contained hung = run_contained(
      [] {
        std::printf("before");
        std::fflush(stdout);
        pause();
      },
      1);
  EXPECT_EQ(hung.failure, "no end within 1 s");
  EXPECT_EQ(hung.output, "before");
}

TEST(Contained, much_output_does_not_block) {
  const Contained result = run_contained([] {
    for (int i = 0; i < 100000; ++i) {
      std::printf("0123456789");
    }
  });
  EXPECT_EQ(result.failure, "");
  EXPECT_GE(result.output.size(), 65536U);
  EXPECT_LT(result.output.size(), 80000U);
}

TEST(ElfNeeded, reads_this_program_and_refuses_others) {
  const auto needed = elf_needed("/proc/self/exe");
  ASSERT_TRUE(needed.has_value());
  EXPECT_NE(std::find(needed->begin(), needed->end(), "libc.so.6"), needed->end());

  trace::ScratchFolder folder;
  const std::string whole = trace::read_whole("/proc/self/exe").substr(0, 1 << 16);
  for (const std::size_t size : {0, 3, 40, 64, 100, 400, 4096, 65536}) {
    trace::write_whole(folder / "cut", whole.substr(0, size));
    const auto cut = elf_needed(folder / "cut");
    if (size < 400) {
      EXPECT_FALSE(cut.has_value()) << size;
    }
  }
  EXPECT_FALSE(elf_needed(folder / "none").has_value());
}

TEST(CheckReport, counts_what_keeps_the_agent_from_working) {
  CheckReport report;
  report.section("One");
  report.yes("a", "fine");
  report.missing_help("b", "not here", "get it");
  EXPECT_EQ(report.problems(), 0);
  report.no("c", "broken", "mend it");
  report.no("d", "it says all: itself", "");
  EXPECT_EQ(report.problems(), 2);
  EXPECT_EQ(report.text(),
            "One\n"
            "  yes  a                     fine\n"
            "  no   b                     not here: get it\n"
            "  NO   c                     broken: mend it\n"
            "  NO   d                     it says all: itself\n");
}

TEST(Check, a_library_that_is_none_is_told) {
  trace::ScratchFolder folder;
  const std::string path = folder / "lib.so";
  trace::write_whole(path, "not a library");
  CheckReport report;
  check_library({.path = path, .problem = ""}, report);
  EXPECT_EQ(report.problems(), 2);
  EXPECT_NE(report.text().find("NO   is a shared object"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("NO   can be preloaded"), std::string::npos) << report.text();
}

TEST(Check, places_are_tried_by_writing) {
  trace::ScratchFolder folder;
  setenv("TRACEAGENT_OUTPUT_FOLDER", (folder / "x").c_str(), 1);
  setenv("TRACEAGENT_RING_FOLDER", folder.path().c_str(), 1);
  CheckReport good;
  check_places(good);
  EXPECT_EQ(good.problems(), 0) << good.text();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  std::filesystem::create_directory(folder / "x");
  trace::write_whole(folder / "x/old.json", "");
  CheckReport full;
  check_places(full);
  EXPECT_EQ(full.problems(), 1);
  EXPECT_NE(full.text().find("holds files: set output.overwrite"), std::string::npos);

  setenv("TRACEAGENT_OUTPUT_FOLDER", "/proc/traces", 1);
  setenv("TRACEAGENT_RING_SIZE", "many", 1);
  CheckReport bad;
  check_places(bad);
  EXPECT_EQ(bad.problems(), 2) << bad.text();
  for (const char* name : {"OUTPUT_FOLDER", "RING_FOLDER", "RING_SIZE"}) {
    unsetenv((std::string("TRACEAGENT_") + name).c_str());
  }
}

// Which the job refuses: it records in memory of its own then.
TEST(Check, rings_lie_in_a_folder_of_ones_own) {
  trace::ScratchFolder folder;
  setenv("TRACEAGENT_OUTPUT_FOLDER", (folder / "x").c_str(), 1);
  setenv("TRACEAGENT_RING_FOLDER", folder.path().c_str(), 1);
  const auto checked = [] {
    CheckReport report;
    check_places(report);
    EXPECT_EQ(report.problems(), 0) << report.text();
    return report.text();
  };
  const std::string own = folder / ("traceagent-" + std::to_string(geteuid()));
  const std::string refused = "  no   ring folder           " + own;
  const std::string remedy = ": what is recorded will not survive a kill; set ring.folder\n";
  const std::string no_folder = refused + " is no folder itself" + remedy;
  trace::write_whole(own, "");
  EXPECT_NE(checked().find(no_folder), std::string::npos) << checked();
  std::filesystem::remove(own);
  std::filesystem::create_symlink(folder.path(), own);
  EXPECT_NE(checked().find(no_folder), std::string::npos) << checked();
  std::filesystem::remove(own);
  std::filesystem::create_directory(own);
  EXPECT_EQ(checked().find("  no   ring folder"), std::string::npos) << checked();
  if (geteuid() == 0) {
    ASSERT_EQ(chown(own.c_str(), 12'345, 12'345), 0);
    const std::string whose = refused + " belongs to another user (12345)" + remedy;
    EXPECT_NE(checked().find(whose), std::string::npos) << checked();
  }
  for (const char* name : {"OUTPUT_FOLDER", "RING_FOLDER"}) {
    unsetenv((std::string("TRACEAGENT_") + name).c_str());
  }
}

TEST(TraceFiles, come_from_folders_and_by_name) {
  trace::ScratchFolder folder;
  for (const char* name : {"b.json", "a.json.gz", "notes.txt", ".hidden.json", "c.json.tmp-1"}) {
    trace::write_whole(folder / name, "{\n\"schemaVersion\": 1,\n\"distributedInfo\": ");
  }
  trace::write_whole(folder / "c.json", "[]\n");
  std::filesystem::create_directory(folder / "d.json");
  TraceFiles files = trace_files({folder / "notes.txt", folder.path().string()});
  EXPECT_EQ(files.paths, (std::vector<std::string>{folder / "notes.txt", folder / "a.json.gz",
                                                   folder / "b.json"}));
  EXPECT_EQ(files.foreign, (std::vector<std::string>{folder / "c.json"}));
  EXPECT_TRUE(files.problems.empty());
  // A rank whose file is not there is missed, not passed over.
  std::filesystem::create_symlink(folder / "gone", folder / "e.json");
  std::filesystem::create_symlink(folder / "notes.txt", folder / "f.json");
  files = trace_files({folder.path().string()});
  EXPECT_EQ(files.paths.size(), 3U);
  ASSERT_EQ(files.problems.size(), 1U);
  EXPECT_EQ(files.problems[0].find("a link that leads to no file: " + (folder / "e.json")), 0U);
  files = trace_files({folder / "d.json"});
  ASSERT_EQ(files.problems.size(), 1U);
  EXPECT_NE(files.problems[0].find("no trace: "), std::string::npos);
}

}  // namespace
}  // namespace traceagent::tools
