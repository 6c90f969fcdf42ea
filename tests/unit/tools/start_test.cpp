// Finding the library, the preload's value, and what the launchers get.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/agent_library.hpp"
#include "tools/given_path.hpp"
#include "tools/mpi_launcher.hpp"
#include "tools/run_options.hpp"

namespace traceagent::tools {
namespace {

using Words = std::vector<std::string>;

TEST(Preload, keeps_what_is_there_once) {
  EXPECT_EQ(joined_preload("/a/l.so", ""), "/a/l.so");
  EXPECT_EQ(joined_preload("/a/l.so", "libjemalloc.so.2"), "/a/l.so:libjemalloc.so.2");
  EXPECT_EQ(joined_preload("/a/l.so", "x.so /a/l.so::y.so:"), "/a/l.so:x.so:y.so");
  EXPECT_EQ(joined_preload("/a/l.so", "/a/l.so"), "/a/l.so");
}

TEST(AgentLibrary, is_what_the_variable_names_or_a_problem) {
  trace::ScratchFolder folder;
  const std::string path = folder / "lib.so";
  setenv("TRACEAGENT_LIBRARY", path.c_str(), 1);
  AgentLibrary library = find_agent_library();
  EXPECT_EQ(library.path, "");
  EXPECT_EQ(library.problem,
            "library not found: " + path + ": build it, or set TRACEAGENT_LIBRARY to where it is");
  trace::write_whole(path, "");
  library = find_agent_library();
  EXPECT_EQ(library.path, path);
  EXPECT_EQ(library.problem, "");

  const std::string spaced = folder / "a b.so";
  trace::write_whole(spaced, "");
  setenv("TRACEAGENT_LIBRARY", spaced.c_str(), 1);
  EXPECT_NE(find_agent_library().problem.find("without spaces"), std::string::npos);
  unsetenv("TRACEAGENT_LIBRARY");
}

TEST(AgentLibrary, that_cannot_be_looked_at_is_not_called_missing) {
  trace::ScratchFolder folder;
  const std::string path = folder / "itself";
  std::filesystem::create_symlink(path, path);
  setenv("TRACEAGENT_LIBRARY", path.c_str(), 1);
  EXPECT_EQ(find_agent_library().problem,
            "library cannot be read: " + path +
                ": Too many levels of symbolic links: let it be read, or set TRACEAGENT_LIBRARY to "
                "one that can be");
  unsetenv("TRACEAGENT_LIBRARY");
}

std::string thrown_by(const CLI::Validator& validator, std::string path) {
  try {
    return "not thrown: " + validator(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(GivenPath, is_refused_for_what_the_system_says) {
  trace::ScratchFolder folder;
  const std::string file = folder / "file";
  const std::string itself = folder / "itself";
  trace::write_whole(file, "");
  std::filesystem::create_symlink(itself, itself);
  std::string path = file;
  EXPECT_EQ(is_file()(path), "");
  EXPECT_EQ(is_there()(path), "");
  EXPECT_EQ(is_folder()(path), file + ": is no folder");
  path = folder.path().string();
  EXPECT_EQ(is_folder()(path), "");
  EXPECT_EQ(is_file()(path), path + ": is a folder: give a file");
  path = folder / "none";
  EXPECT_EQ(thrown_by(is_there(), path),
            "no such input: " + path + ": No such file or directory: give files that are there");
  EXPECT_EQ(thrown_by(is_file(), itself), "no such input: " + itself +
                                              ": Too many levels of symbolic links: give files "
                                              "that are there");
}

TEST(RunOptions, become_variables) {
  const RunVariables result = variables_of({.config = "/etc/trace.yaml",
                                            .schedule = "wait=1",
                                            .output = "{run_name}/t",
                                            .sets = {"ring.size=1MiB", "step.mark=nvtx:a=b"}});
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.variables, (Variables{{"TRACEAGENT_CONFIG", "/etc/trace.yaml"},
                                         {"TRACEAGENT_SCHEDULE", "wait=1"},
                                         {"TRACEAGENT_OUTPUT_FOLDER", "{run_name}/t"},
                                         {"TRACEAGENT_RING_SIZE", "1MiB"},
                                         {"TRACEAGENT_STEP_MARK", "nvtx:a=b"}}));
  EXPECT_TRUE(variables_of({.config = "here.yaml"}).variables[0].second.starts_with('/'));
}

TEST(RunOptions, bad_settings_are_named) {
  EXPECT_EQ(variables_of({.sets = {"ring.sise=1"}}).problem,
            "unknown option: --set ring.sise=1: the nearest is ring.size; see traceagent options");
  EXPECT_EQ(variables_of({.sets = {"ring.size"}}).problem,
            "no value: --set ring.size: write --set key=value");
}

TEST(RunOptions, bad_values_are_refused_before_anything_is_started) {
  EXPECT_NE(variables_of({.schedule = "wait=x"}).problem.find("wait"), std::string::npos);
  EXPECT_NE(variables_of({.sets = {"ring.size=1parsec"}}).problem.find("1parsec"),
            std::string::npos);
  EXPECT_EQ(variables_of({.config = "/no/such/file.yaml", .schedule = "wait=1"}).problem, "");
}

// And not the variable, which nobody typed.
TEST(RunOptions, bad_values_name_the_option_that_was_typed) {
  EXPECT_EQ(variables_of({.sets = {"output.keep=x"}}).problem,
            "bad value: --set output.keep: \"x\": not a whole number: see traceagent options");
  EXPECT_EQ(variables_of({.schedule = "foo"}).problem,
            "unknown option: --schedule: \"foo\": there is none like it: see traceagent options");
  EXPECT_EQ(variables_of({.schedule = "active=x"}).problem.find("bad value: --schedule: "), 0u);
  const RunVariables again = variables_of({.sets = {"output.keep=1", "output.keep=x"}});
  EXPECT_EQ(again.problem.find("bad value: --set output.keep: "), 0u) << "the last one is used";
  EXPECT_EQ(variables_of({.sets = {"output.keep=x", "output.keep=1"}}).problem, "");
}

// They are used as they are; the job's process says the doubt.
TEST(RunOptions, doubtful_values_stop_no_job) {
  EXPECT_EQ(variables_of({.sets = {"output.remote=s3://b/job-4711/"}}).problem, "");
  EXPECT_EQ(variables_of({.output = "/x/{rnk}"}).problem, "");
  EXPECT_EQ(variables_of({.sets = {"merge.include=a[b"}}).problem, "");
  EXPECT_EQ(variables_of({.sets = {"merge.include=*.json", "output.merged=null"}}).problem, "");
  const RunVariables wrong = variables_of({.sets = {"output.filename=trace", "ring.size=1parsec"}});
  EXPECT_NE(wrong.problem.find("1parsec"), std::string::npos) << wrong.problem;
}

TEST(MpiLauncher, is_recognised_by_what_it_says) {
  const std::map<std::string, MpiKind> texts = {
      {"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/", MpiKind::open_mpi},
      {"mpirun (Open MPI) 5.0.3", MpiKind::open_mpi},
      {"HYDRA build details:\n    Version:  4.0.2", MpiKind::hydra},
      {"Intel(R) MPI Library for Linux* OS, Version 2021.9", MpiKind::hydra}};
  for (const auto& [text, expected] : texts) {
    MpiKind kind{};
    EXPECT_TRUE(recognise_mpi(text, kind)) << text;
    EXPECT_EQ(kind, expected) << text;
  }
  MpiKind kind{};
  EXPECT_FALSE(recognise_mpi("srun 22.05", kind));
  EXPECT_FALSE(recognise_mpi("", kind));
}

TEST(MpiLauncher, ranks_get_the_preload_and_our_variables) {
  const char* environment[] = {
      "PATH=/bin", "LD_PRELOAD=x.so", "TRACEAGENT_SCHEDULE=wait=1", "NOTRACEAGENT_A=1", "ODD",
      nullptr};
  EXPECT_EQ(rank_environment("/l.so", environment),
            (Variables{{"LD_PRELOAD", "/l.so:x.so"}, {"TRACEAGENT_SCHEDULE", "wait=1"}}));
}

TEST(MpiLauncher, open_mpi_gets_the_variables_for_every_program_of_the_list) {
  const MpiLauncher launcher{.program = "mpirun", .kind = MpiKind::open_mpi, .problem = ""};
  const Variables variables = {{"LD_PRELOAD", "/l.so"}, {"TRACEAGENT_A", "b c"}};
  EXPECT_EQ(mpi_command(launcher, variables, {"-n", "1", "./a", "x", ":", "-n", "2", "./b"}),
            (Words{"mpirun", "-x", "LD_PRELOAD=/l.so", "-x", "TRACEAGENT_A", "-n", "1", "./a", "x",
                   ":", "-x", "LD_PRELOAD=/l.so", "-x", "TRACEAGENT_A", "-n", "2", "./b"}))
      << "and no value but the preload's, since all users can read it";
}

TEST(MpiLauncher, hydra_gets_the_preload_once_and_passes_on_the_rest_by_itself) {
  const MpiLauncher launcher{.program = "mpirun", .kind = MpiKind::hydra, .problem = ""};
  const Variables variables = {{"LD_PRELOAD", "/l.so"}, {"TRACEAGENT_A", "b c"}};
  EXPECT_EQ(mpi_command(launcher, variables, {"-n", "1", "./a", ":", "./b"}),
            (Words{"mpirun", "-genv", "LD_PRELOAD", "/l.so", "-n", "1", "./a", ":", "./b"}));
}

TEST(MpiLauncher, hydra_gets_all_variables_where_it_keeps_others_back) {
  const MpiLauncher launcher{.program = "mpirun", .kind = MpiKind::hydra, .problem = ""};
  const Variables variables = {{"LD_PRELOAD", "/l.so"}, {"TRACEAGENT_A", "b c"}};
  const auto words_of_a = [&](const Words& arguments) {
    const Words command = mpi_command(launcher, variables, arguments);
    return std::count(command.begin(), command.end(), "TRACEAGENT_A") +
           std::count(command.begin(), command.end(), "b c");
  };
  for (const char* word : {"-genvnone", "-genvlist", "--envlist", "-envnone", "-genvexcl"}) {
    EXPECT_EQ(words_of_a({word, "-n", "1", "./a"}), 2) << word;
  }
  for (const char* word : {"-genvall", "envnone", "-", "-g", "-env"}) {
    EXPECT_EQ(words_of_a({word, "-n", "1", "./a"}), 0) << word;
  }
  setenv("HYDRA_ENV", "all", 1);
  EXPECT_EQ(words_of_a({"./a"}), 0);
  setenv("HYDRA_ENV", "none", 1);
  EXPECT_EQ(words_of_a({"./a"}), 2);
  unsetenv("HYDRA_ENV");
}

TEST(MpiLauncher, ranks_find_the_config_wherever_they_are_started) {
  const auto made_of = [](const char* config) {
    setenv("TRACEAGENT_CONFIG", config, 1);
    make_config_whole();
    return std::string(std::getenv("TRACEAGENT_CONFIG"));
  };
  EXPECT_EQ(made_of("here.yaml"), (std::filesystem::current_path() / "here.yaml").string());
  EXPECT_EQ(made_of("/etc/trace.yaml"), "/etc/trace.yaml");
  EXPECT_EQ(made_of(""), "") << "which names none";
  unsetenv("TRACEAGENT_CONFIG");
  make_config_whole();
  EXPECT_EQ(std::getenv("TRACEAGENT_CONFIG"), nullptr);
}

}  // namespace
}  // namespace traceagent::tools
