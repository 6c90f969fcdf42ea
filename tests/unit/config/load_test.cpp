#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "config/counter_names.hpp"
#include "config/options.hpp"
#include "tests/unit/config/loaded_from.hpp"

namespace traceagent::config {
namespace {

TEST(Load, NothingGivesTheDefaults) {
  const Loaded loaded = from_variables({});
  EXPECT_EQ(lines_of(loaded), Lines{});
  EXPECT_EQ(loaded.config_path, "");
  const Options& o = loaded.options;
  EXPECT_TRUE(o.enabled);
  EXPECT_EQ(o.run_name, "");
  EXPECT_EQ(o.output_folder, "{run_name}/traces");
  EXPECT_EQ(o.output_merged, "node{node_rank}.json");
  EXPECT_EQ(o.output_remote, std::nullopt);
  EXPECT_EQ(o.output_keep, -1);
  EXPECT_EQ(schedule_of(o), (Schedule{0, 0, 1, 4, 1}));
  EXPECT_EQ(o.step_mark, "auto");
  EXPECT_EQ(o.step_patience, 60000000000U);
  EXPECT_EQ(o.ring_size, 67108864U);
  EXPECT_EQ(o.ring_full, "drop");
  EXPECT_EQ(o.ring_folder, "/dev/shm");
  EXPECT_TRUE(o.doors_nccl_plugin);
  EXPECT_EQ(o.merge_mode, "exit");
  EXPECT_EQ(o.merge_timeout, 60000000000U);
  EXPECT_EQ(o.exit_timeout, 5000000000U);
  EXPECT_EQ(o.identity_rank, -1);
}

TEST(Load, ALimitMayBeNone) {
  EXPECT_EQ(from_variables({}).options.budget_overhead, 10'000U);
  for (const char* none : {"0", "0%", "null"}) {
    const Loaded loaded = from_variables({std::string("TRACEAGENT_BUDGET_OVERHEAD=") + none});
    EXPECT_EQ(lines_of(loaded), Lines{}) << none;
    EXPECT_EQ(loaded.options.budget_overhead, 0U) << none;
  }
  for (const char* none : {"0", "null"}) {
    const Loaded loaded = from_variables({std::string("TRACEAGENT_BUDGET_MEMORY=") + none});
    EXPECT_EQ(lines_of(loaded), Lines{}) << none;
    EXPECT_EQ(loaded.options.budget_memory, 0U) << none;
  }
  const Loaded yaml = from_yaml("budget: {overhead: null, memory: null, disk: null}");
  EXPECT_EQ(lines_of(yaml), Lines{});
  EXPECT_EQ(yaml.options.budget_overhead, 0U);
  EXPECT_NE(describe(yaml.options).find(R"("budget.memory":null)"), std::string::npos);
  EXPECT_EQ(lines_of(from_variables({"TRACEAGENT_BUDGET_MEMORY=64KiB"})).size(), 1U);
}

TEST(Load, AnEmptyEnvironmentIsNoCrash) {
  EXPECT_EQ(lines_of(load(Environment(nullptr))), Lines{});
}

TEST(Load, EveryOptionFromYaml) {
  const Loaded loaded = from_yaml(R"(
enabled: false
run_name: my-run
verbose: yes
quiet: on
output: {folder: a/b, filename: "r{rank}.json", merged: null, gzip: true, overwrite: 1, keep: 3,
         remote: "s3://bucket/{run_name}", merged_remote: "/{run_name}"}
upload: {patience: 2h, queue: null, command_time: 90s, wait: 1s}
schedule: {skip_first: 10, wait: 5, warmup: 2, active: 3, repeat: 7}
step: {mark: "nvtx:step", per_epoch: 100, samples: 32, tokens: 4096, patience: 2min}
ring: {size: 1MiB, full: overwrite, folder: /tmp, keep_dead: 48h}
doors: {cudart: false, nccl: false, dlsym: false, driver: false, nccl_plugin: false, nvtx: false,
        cupti: off}
device: {buffers: 32MiB, settle: 5s, waits: yes, time_launches: yes, unsafe_cupti: on}
counters: {sources: [node, gpu], interval: 10ms}
budget: {overhead: 0.25%, memory: 256MiB, disk: 1GB}
nccl: {kernel_channels: true, network: on}
merge: {mode: off, include: ["*.pt.trace.json*", other/*.json], timeout: 250ms}
exit: {timeout: 1h}
signals: [TERM, XCPU]
keeper: true
identity: {rank: 3, local_rank: 1, world_size: 8, local_world_size: 2, node_rank: 1}
)");
  EXPECT_EQ(
      lines_of(loaded),
      (Lines{
          "output.merged_remote: job.yaml:7: \"/{run_name}\": merge.mode is off, so that there is "
          "no such file; nothing is uploaded there",
          "doubtful merge.include: job.yaml:18: \"*.pt.trace.json*, other/*.json\": merge.mode is "
          "off, so "
          "that "
          "there is no node file to include them in; nothing is included: let there be one, or "
          "leave "
          "merge.include out"}));
  EXPECT_EQ(
      describe(loaded.options),
      R"({"enabled":false,"run_name":"my-run","verbose":true,"quiet":true,)"
      R"("output.folder":"a/b","output.filename":"r{rank}.json","output.merged":null,)"
      R"("output.gzip":true,"output.overwrite":true,"output.keep":3,)"
      R"("output.remote":"s3://bucket/{run_name}","output.merged_remote":"/{run_name}",)"
      R"("upload.patience":"2h","upload.queue":null,"upload.command_time":"90s","upload.wait":"1s",)"
      R"("schedule.skip_first":10,"schedule.wait":5,)"
      R"("schedule.warmup":2,"schedule.active":3,"schedule.repeat":7,)"
      R"("step.mark":"nvtx:step","step.per_epoch":100,"step.samples":32,)"
      R"("step.tokens":4096,"step.patience":"2min","ring.size":"1MiB",)"
      R"("ring.full":"overwrite","ring.folder":"/tmp","ring.keep_dead":"2d",)"
      R"("doors.cudart":false,)"
      R"("doors.nccl":false,"doors.dlsym":false,"doors.driver":false,)"
      R"("doors.nccl_plugin":false,"doors.nvtx":false,"doors.cupti":false,)"
      R"("device.buffers":"32MiB","device.settle":"5s","device.waits":true,"device.time_launches":true,)"
      R"("device.unsafe_cupti":true,)"
      R"("counters.sources":"node, gpu","counters.interval":"10ms",)"
      R"("budget.overhead":"0.25%","budget.memory":"256MiB","budget.disk":"1GB",)"
      R"("nccl.kernel_channels":true,"nccl.network":true,)"
      R"("merge.mode":"off","merge.include":"*.pt.trace.json*, other/*.json","merge.timeout":"250ms","exit.timeout":"1h","signals":"TERM, XCPU",)"
      R"("keeper":true,)"
      R"("identity.rank":3,"identity.local_rank":1,"identity.world_size":8,)"
      R"("identity.local_world_size":2,"identity.node_rank":1})");
}

TEST(Load, EveryOptionHasItsVariable) {
  // Each option set alone from its variable to a value that is not its default.
  for (const OptionRow& row : option_rows()) {
    std::string value;
    switch (row.type) {
      case OptionType::boolean:
        value = std::get<bool Options::*>(row.field) == &Options::enabled ? "false" : "true";
        if (row.key.starts_with("doors.")) value = "false";
        break;
      case OptionType::choice:
        value = row.rule.choices.substr(row.rule.choices.rfind('|') + 1);
        break;
      case OptionType::percent:
        value = "2%";
        break;
      case OptionType::bytes:
        value = "2MiB";
        break;
      case OptionType::nullable_bytes:
        value = "32MiB";
        break;
      case OptionType::duration:
        value = "7s";
        break;
      case OptionType::step_mark:
        value = "every:3s";
        break;
      case OptionType::counter_list:
        value = "node";
        break;
      case OptionType::signal_list:
        value = "TERM, INT";
        break;
      case OptionType::file_remote:
      case OptionType::node_remote:
        value = "s3://bucket/{run_name}";
        break;
      case OptionType::integer:
      case OptionType::count:
        value = "3";
        break;
      case OptionType::file_name_template:
      case OptionType::nullable_name_template:
        value = "some.json";
        break;
      default:
        value = "some-text";
    }
    const Loaded loaded = from_variables({environment_name(row.key) + "=" + value});
    EXPECT_EQ(lines_of(loaded), Lines{}) << row.key;
    EXPECT_NE(describe(loaded.options), describe({})) << row.key << " = " << value;
  }
}

TEST(Load, EnvironmentNames) {
  EXPECT_EQ(environment_name("run_name"), "TRACEAGENT_RUN_NAME");
  EXPECT_EQ(environment_name("doors.nccl_plugin"), "TRACEAGENT_DOORS_NCCL_PLUGIN");
}

TEST(Load, TheEnvironmentWins) {
  const Loaded loaded = from_yaml("ring: {size: 1MiB}\nverbose: true\nschedule: {active: 9}\n",
                                  {"TRACEAGENT_RING_SIZE=2MiB", "TRACEAGENT_SCHEDULE_ACTIVE=7"});
  EXPECT_EQ(lines_of(loaded), Lines{});
  EXPECT_EQ(loaded.options.ring_size, 2097152U);
  EXPECT_EQ(loaded.options.schedule_active, 7U);
  EXPECT_TRUE(loaded.options.verbose);
}

TEST(Load, ShortNamesOfTheIdentity) {
  const Loaded loaded =
      from_variables({"TRACEAGENT_RANK=3", "TRACEAGENT_LOCAL_RANK=1", "TRACEAGENT_WORLD_SIZE=8",
                      "TRACEAGENT_LOCAL_WORLD_SIZE=2", "TRACEAGENT_NODE_RANK=1"});
  EXPECT_EQ(lines_of(loaded), Lines{});
  EXPECT_EQ(loaded.options.identity_rank, 3);
  EXPECT_EQ(loaded.options.identity_local_rank, 1);
  EXPECT_EQ(loaded.options.identity_world_size, 8);
  EXPECT_EQ(loaded.options.identity_local_world_size, 2);
  EXPECT_EQ(loaded.options.identity_node_rank, 1);
  EXPECT_EQ(
      from_variables({"TRACEAGENT_IDENTITY_RANK=5", "TRACEAGENT_RANK=3"}).options.identity_rank, 5);
}

TEST(Load, ValuesOfTheWrongType) {
  EXPECT_EQ(
      lines_of(from_yaml("enabled: maybe\n"
                         "output: {keep: -2, gzip: 2, overwrite: null}\n"
                         "schedule: {wait: -1, active: 4.5, repeat: 99999999999999999999}\n"
                         "step: {mark: nvtx}\n"
                         "ring: {size: 100KiB, full: dorp}\n"
                         "merge: {timeout: 60, mode: [exit]}\n"
                         "run_name: {a: b}\n"
                         "quiet: \"tr\\nue\"\n")),
      (Lines{
          "bad value: job.yaml:1: enabled: \"maybe\": not true or false; using the default true",
          "bad value: job.yaml:2: output.keep: \"-2\": less than -1; using the default -1",
          "bad value: job.yaml:2: output.gzip: \"2\": not true or false; using the default false",
          "bad value: job.yaml:2: output.overwrite: null: it must have a value; using the default "
          "false",
          "bad value: job.yaml:3: schedule.wait: \"-1\": not a whole number from 0; using the "
          "default 0",
          "bad value: job.yaml:3: schedule.active: \"4.5\": not a whole number from 0; using the "
          "default 4",
          "bad value: job.yaml:3: schedule.repeat: \"99999999999999999999\": too large; using the "
          "default 1",
          "bad value: job.yaml:4: step.mark: \"nvtx\": a name is missing, such as in nvtx:step; "
          "using the default auto",
          "bad value: job.yaml:5: ring.size: \"100KiB\": less than 256KiB; using the default 64MiB",
          "bad value: job.yaml:5: ring.full: \"dorp\": not one of drop, overwrite, the nearest is "
          "drop; using the default drop",
          "bad value: job.yaml:6: merge.timeout: \"60\": the unit is missing, such as in 60s; "
          "using the default 1min",
          "bad value: job.yaml:6: merge.mode: it needs a value, not a list; using the default exit",
          "bad value: job.yaml:7: run_name: it needs a value, not a map; using the default \"\"",
          "bad value: job.yaml:8: quiet: \"tr\\x0aue\": not true or false; using the default "
          "false"}));
}

TEST(Load, ARefusedVariableLeavesTheFilesValue) {
  const Loaded loaded = from_yaml("ring: {size: 1MiB}\n", {"TRACEAGENT_RING_SIZE=lots"});
  EXPECT_EQ(lines_of(loaded), (Lines{"bad value: TRACEAGENT_RING_SIZE: \"lots\": not a size such "
                                     "as 64MiB; using 1MiB"}));
  EXPECT_EQ(loaded.options.ring_size, 1048576U);
}

TEST(Load, UnknownKeysNameTheNearest) {
  EXPECT_EQ(
      lines_of(from_yaml("run_nam: x\n"
                         "ouput: {folder: a, gzip: true}\n"
                         "output: {filname: x}\n"
                         "filename: x\n"
                         "output.gzip: true\n"
                         "banana: x\n"
                         "doors: [nccl]\n"
                         "ring: 64MiB\n"
                         "merge:\n")),
      (Lines{"unknown option: job.yaml:1: \"run_nam\": the nearest is run_name; ignored",
             "unknown option: job.yaml:2: \"ouput\": the nearest is output; ignored",
             "unknown option: job.yaml:3: \"output.filname\": the nearest is "
             "output.filename; ignored",
             "unknown option: job.yaml:4: \"filename\": the nearest is output.filename; "
             "ignored",
             "unknown option: job.yaml:6: \"banana\": there is none like it; ignored",
             "bad value: job.yaml:7: doors: it needs a map, not a list; ignored",
             "bad value: job.yaml:8: ring: \"64MiB\": it needs a map, not a value; ignored"}));
}

TEST(Load, UnknownVariablesNameTheNearest) {
  EXPECT_EQ(
      lines_of(from_variables({"TRACEAGENT_RNIG_SIZE=1", "TRACEAGENT_LOCALRANK=1",
                               "TRACEAGENT_SCHEDUL=x", "TRACEAGENT_BANANA=1",
                               "TRACEAGENT_INTERNAL_ANYTHING=1", "TRACEAGENTX=1", "RANK=x"})),
      (Lines{"unknown variable: TRACEAGENT_RNIG_SIZE: the nearest is TRACEAGENT_RING_SIZE; ignored",
             "unknown variable: TRACEAGENT_LOCALRANK: the nearest is TRACEAGENT_LOCAL_RANK; "
             "ignored",
             "unknown variable: TRACEAGENT_SCHEDUL: the nearest is TRACEAGENT_SCHEDULE; ignored",
             "unknown variable: TRACEAGENT_BANANA: there is none like it; ignored"}));
}

TEST(Load, NullAndEmptyVariables) {
  const Loaded loaded = from_variables({"TRACEAGENT_OUTPUT_MERGED=null",
                                        "TRACEAGENT_OUTPUT_REMOTE=", "TRACEAGENT_RUN_NAME=",
                                        "TRACEAGENT_RING_SIZE=", "TRACEAGENT_OUTPUT_FOLDER="});
  EXPECT_EQ(lines_of(loaded), Lines{});
  EXPECT_EQ(loaded.options.output_merged, std::nullopt);
  EXPECT_EQ(loaded.options.output_remote, std::nullopt);
  EXPECT_EQ(loaded.options.ring_size, 67108864U);
  EXPECT_EQ(loaded.options.output_folder, "{run_name}/traces");
  EXPECT_EQ(from_variables({"TRACEAGENT_OUTPUT_MERGED="}).options.output_merged, std::nullopt);
  // An empty variable takes back what a file says only where empty is a value.
  const Loaded over = from_yaml("run_name: x\nring.size: 1MiB\n",
                                {"TRACEAGENT_RUN_NAME=", "TRACEAGENT_RING_SIZE="});
  EXPECT_EQ(over.options.run_name, "");
  EXPECT_EQ(over.options.ring_size, 1048576U);
}

TEST(Load, AnEmptyVariableTakesNoLimitAway) {
  const Loaded loaded = from_yaml(
      "budget: {memory: 64MiB}\n",
      {"TRACEAGENT_BUDGET_OVERHEAD=", "TRACEAGENT_BUDGET_MEMORY=", "TRACEAGENT_UPLOAD_QUEUE="});
  EXPECT_EQ(lines_of(loaded), Lines{});
  EXPECT_EQ(loaded.options.budget_overhead, 10'000U);
  EXPECT_EQ(loaded.options.budget_memory, 67108864U);
  EXPECT_EQ(loaded.options.upload_queue, 10737418240U);
  EXPECT_EQ(lines_of(from_yaml("budget: {overhead: \"\"}\n")),
            (Lines{"bad value: job.yaml:1: budget.overhead: \"\": not a share such as 1%; using "
                   "the default 1%"}));
}

TEST(Load, ControlCharactersAreRefused) {
  EXPECT_EQ(lines_of(from_yaml("run_name: \"a\\nb\"\n")),
            (Lines{"bad value: job.yaml:1: run_name: \"a\\x0ab\": it has a control character in "
                   "it; using the default \"\""}));
}

TEST(Load, TextLongerThanAnyPathIsRefused) {
  EXPECT_EQ(from_yaml("run_name: " + std::string(4096, 'x')).options.run_name.size(), 4096U);
  EXPECT_EQ(lines_of(from_yaml("run_name: " + std::string(4097, 'x'))),
            (Lines{"bad value: job.yaml:1: run_name: \"" + std::string(100, 'x') +
                   "...\": longer than 4096 bytes; using the default \"\""}));
}

TEST(Load, ManyProblemsAreCountedNotShown) {
  std::string text;
  for (int i = 0; i < 900; ++i) text += "unknown" + std::to_string(i) + ": 1\n";
  const Loaded loaded = from_yaml(text);
  ASSERT_EQ(loaded.problems.size(), 21U);
  EXPECT_EQ(loaded.problems[20].line, "more problems with options: 880 are not shown");
}

TEST(Load, EveryProblemIsOneLineWhateverTheInput) {
  const std::string nasty =
      "\"a\\nb\\0\\x07\": \"\\r\\n\"\nring: {\"\\n\": \"\\n\", size: \"\\n\"}\n";
  for (const Problem& problem :
       from_yaml(nasty, {"TRACEAGENT_\nX=1", "TRACEAGENT_\xff=1"}).problems) {
    EXPECT_EQ(problem.line.find_first_of("\n\r\x07"), std::string::npos) << problem.line;
  }
}

TEST(Load, Counters) {
  for (const char* none : {"counters: {sources: []}", "counters: {sources: none}"}) {
    const Loaded loaded = from_yaml(none);
    EXPECT_EQ(lines_of(loaded), Lines{});
    EXPECT_FALSE(parse_counters(loaded.options.counters_sources).scopes.process) << none;
  }
  const CounterScopes scopes = parse_counters(" gpu,process ").scopes;
  EXPECT_TRUE(scopes.gpu && scopes.process && !scopes.node);
  EXPECT_EQ(
      lines_of(from_yaml("counters: {sources: [process, nod], interval: 9ms}")),
      (Lines{"bad value: job.yaml:1: counters.sources: \"process, nod\": \"nod\" is not one of "
             "process, "
             "node, gpu; the nearest is node; using the default process, node, gpu",
             "bad value: job.yaml:1: counters.interval: \"9ms\": less than 10ms; using the default "
             "500ms"}));
}

TEST(Load, LeavesACommandTime) {
  EXPECT_EQ(lines_of(from_yaml("upload: {command_time: 0}")),
            (Lines{"bad value: job.yaml:1: upload.command_time: \"0\": less than 1s; using the "
                   "default 10min"}));
}

}  // namespace
}  // namespace traceagent::config
