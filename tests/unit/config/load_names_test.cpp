#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "config/options.hpp"
#include "tests/unit/config/loaded_from.hpp"

namespace traceagent::config {
namespace {

TEST(LoadNames, NothingIsRemovedThatARefusedRemoteShouldHaveHad) {
  Loaded loaded = from_variables({"TRACEAGENT_OUTPUT_REMOTE=s3://", "TRACEAGENT_OUTPUT_KEEP=0"});
  EXPECT_EQ(loaded.options.output_remote, std::nullopt);
  EXPECT_EQ(loaded.options.output_keep, -1);
  ASSERT_EQ(loaded.problems.size(), 2u);
  EXPECT_EQ(
      loaded.problems[1].line,
      "output.keep: TRACEAGENT_OUTPUT_KEEP: 0: output.remote was refused, and what it does not "
      "have would be removed; using -1");
  // That of the file stays in force.
  loaded = from_yaml("output: {remote: 's3://bucket/{run_name}', keep: 2}",
                     {"TRACEAGENT_OUTPUT_REMOTE=s3://"});
  EXPECT_EQ(loaded.options.output_keep, 2);
  EXPECT_EQ(loaded.problems.size(), 1u);
}

// Each would replace the one before there, and that one has been removed here.
TEST(LoadNames, NothingIsRemovedWhoseNameTheNextCycleHas) {
  const auto keep_of = [](const std::string& more) {
    const Loaded loaded = from_yaml("output: {remote: \"/d/{run_name}/\", keep: 0, " + more +
                                    "}\nschedule: repeat=0\n");
    EXPECT_EQ(loaded.problems.size(), loaded.options.output_keep == 0 ? 0U : 1U) << more;
    return loaded.options.output_keep;
  };
  EXPECT_EQ(keep_of("filename: \"{rank}-{batch}.json\""), 0);
  EXPECT_EQ(keep_of("filename: \"{rank}-{epoch}.json\""), -1);
  EXPECT_EQ(keep_of("filename: \"{rank}.json\", overwrite: true"), 0);
  const Options one_cycle =
      from_yaml("output: {remote: \"/d/{run_name}/\", keep: 0, filename: \"{rank}.json\"}").options;
  EXPECT_EQ(one_cycle.output_keep, 0);
  EXPECT_EQ(
      lines_of(from_yaml("output: {remote: \"exec:put {}\", keep: 2, filename: \"{rank}.json\"}\n"
                         "schedule: repeat=2\n")),
      (Lines{"output.keep: job.yaml:1: 2: cycles have one name in output.filename, and would "
             "replace those that are removed here: name {batch}; using -1"}));
}

TEST(LoadNames, NothingIsUploadedWhereNothingIsMerged) {
  EXPECT_EQ(
      lines_of(from_yaml("output: {merged: null, merged_remote: \"/there/{run_name}/\"}\n")),
      (Lines{"output.merged_remote: job.yaml:1: \"/there/{run_name}/\": output.merged is null, "
             "so that there is no such file; nothing is uploaded there"}));
  EXPECT_EQ(lines_of(from_yaml("merge: {mode: off}\n",
                               {"TRACEAGENT_OUTPUT_MERGED_REMOTE=/there/{run_name}/"})),
            (Lines{"output.merged_remote: TRACEAGENT_OUTPUT_MERGED_REMOTE: "
                   "\"/there/{run_name}/\": merge.mode is off, so that there is no such file; "
                   "nothing is uploaded there"}));
  EXPECT_EQ(lines_of(from_yaml("output: {merged: null, merged_remote: null}\n")), Lines{});
}

TEST(LoadNames, CyclesOfOneNameAreTold) {
  const std::string name = "TRACEAGENT_OUTPUT_FILENAME=r{rank}.json";
  EXPECT_EQ(lines_of(from_variables({name, "TRACEAGENT_SCHEDULE=repeat=3"})),
            (Lines{"doubtful output.filename: TRACEAGENT_OUTPUT_FILENAME: \"r{rank}.json\": its "
                   "cycles would write the same; it stays as it is: name {batch}, or set "
                   "output.overwrite to keep the last"}));
  EXPECT_EQ(lines_of(from_variables({name, "TRACEAGENT_SCHEDULE=repeat=1"})), Lines{});
  EXPECT_EQ(lines_of(from_variables(
                {name, "TRACEAGENT_SCHEDULE=repeat=3", "TRACEAGENT_OUTPUT_OVERWRITE=true"})),
            Lines{});
}

TEST(LoadNames, NothingIsIncludedWhereNothingIsMerged) {
  EXPECT_EQ(
      lines_of(from_yaml("output: {merged: null}\n", {"TRACEAGENT_MERGE_INCLUDE=*.json"})),
      (Lines{
          "doubtful merge.include: TRACEAGENT_MERGE_INCLUDE: \"*.json\": output.merged is null, so "
          "that there is no node file to include them in; nothing is included: let there "
          "be one, or leave merge.include out"}));
}

TEST(LoadNames, APatternThatFindsOtherFilesThanItSeemsToIsTold) {
  EXPECT_EQ(
      lines_of(from_variables({"TRACEAGENT_MERGE_INCLUDE=a*.json, [, ../**/x"})),
      (Lines{
          "doubtful merge.include: TRACEAGENT_MERGE_INCLUDE: \"[\": a [ that is not closed stands "
          "for itself: close it, or write \\[; it stays as it is",
          "doubtful merge.include: TRACEAGENT_MERGE_INCLUDE: \"../**/x\": ** is one folder, as * "
          "is: give a pattern for each depth, such as */x and */*/x; it stays as it is"}));
  for (const char* doubtful : {"x/[]", "x/[!]", "a[/b]", "[a-z]*[0"}) {
    EXPECT_EQ(
        lines_of(from_variables({std::string("TRACEAGENT_MERGE_INCLUDE=") + doubtful})).size(), 1U)
        << doubtful;
  }
  for (const char* sound : {"\\[*", "[]]", "[!]x]", "[[:digit:]]*", "a**b", "x]"}) {
    EXPECT_EQ(lines_of(from_variables({std::string("TRACEAGENT_MERGE_INCLUDE=") + sound})), Lines{})
        << sound;
  }
}

TEST(LoadNames, QuotedNullIsAName) {
  EXPECT_EQ(from_yaml("output: {merged: 'null'}\n").options.output_merged, "null");
  EXPECT_EQ(from_yaml("output: {merged: null}\n").options.output_merged, std::nullopt);
}

// As it stands in an options file. What only looks like one is a pattern, as before.
TEST(LoadNames, AListInAVariableIsOne) {
  const auto included = [](const char* text) {
    const Loaded loaded = from_variables({std::string("TRACEAGENT_MERGE_INCLUDE=") + text});
    EXPECT_EQ(lines_of(loaded), Lines{}) << text;
    return loaded.options.merge_include;
  };
  EXPECT_EQ(included(R"(["*.pt.trace.json*"])"), "*.pt.trace.json*");
  EXPECT_EQ(included("[a.json, 'b*.json']"), "a.json, b*.json");
  EXPECT_EQ(included("[]"), "");
  EXPECT_EQ(included("a.json, b*.json"), "a.json, b*.json");
  EXPECT_EQ(included("[ab]*.json"), "[ab]*.json");
  EXPECT_EQ(included("[[a]]"), "[[a]]");
  EXPECT_EQ(from_variables({"TRACEAGENT_COUNTERS_SOURCES=[process]"}).options.counters_sources,
            "process");
}

TEST(LoadNames, NameTemplates) {
  EXPECT_EQ(lines_of(from_yaml("output:\n"
                               "  folder: \"{rank\"\n"
                               "  filename: \"{batch:06q}.json\"\n"
                               "  merged: \"\"\n")),
            (Lines{"bad value: job.yaml:2: output.folder: \"{rank\": a '{' has no '}' after it; "
                   "using the default {run_name}/traces",
                   "bad value: job.yaml:3: output.filename: \"{batch:06q}.json\": {batch:06q}: "
                   "unknown format \"06q\"; using the default "
                   "ep{epoch}-ba{batch}-rank{rank}.json"}));
  const Loaded doubtful =
      from_yaml("output: {folder: \"{epoch}\", filename: \"{rnk}{batch}.json\"}\n");
  EXPECT_EQ(
      lines_of(doubtful),
      (Lines{"doubtful name: job.yaml:1: \"{epoch}\": {epoch} is known in output.filename "
             "only; it stays as it is",
             "doubtful name: job.yaml:1: \"{rnk}{batch}.json\": there is no variable {rnk}, the "
             "nearest is rank; it stays as it is"}));
  EXPECT_EQ(doubtful.options.output_folder, "{epoch}");
  EXPECT_EQ(lines_of(from_yaml("output: {folder: /data, filename: \"/data/x/{rank}.json\",\n"
                               "  merged: /x/all.json, remote: '/{run_name}/'}\n")),
            (Lines{"doubtful name: job.yaml:1: \"/data/x/{rank}.json\": it lies below "
                   "output.folder: name the folder there; it stays as it is",
                   "doubtful name: job.yaml:2: \"/x/all.json\": it lies below output.folder: name "
                   "the folder there; it stays as it is"}));
  EXPECT_EQ(lines_of(from_yaml("output: {folder: ~/traces}\n")),
            (Lines{"doubtful name: job.yaml:1: \"~/traces\": only a shell makes a home folder of "
                   "~: give the whole path; it stays as it is"}));
  EXPECT_EQ(lines_of(from_yaml("ring: {folder: ~/rings}\n")).size(), 1u);
  EXPECT_EQ(lines_of(from_yaml("output: {folder: \"\"}\n")),
            (Lines{"bad value: job.yaml:1: output.folder: \"\": it is empty; using the default "
                   "{run_name}/traces"}));
}

TEST(LoadNames, NamesThatOnlyAShellWouldRead) {
  const std::string what =
      " is: write it out, or set the option by its TRACEAGENT_ variable where a shell starts the "
      "job; it stays as it is";
  EXPECT_EQ(
      lines_of(from_yaml("run_name: job-$SLURM_JOB_ID\n"
                         "output: {folder: $HOME/traces, filename: \"${USER}-{rank}.json\"}\n"
                         "ring: {folder: /x/$_a9}\n")),
      (Lines{"doubtful name: job.yaml:1: \"job-$SLURM_JOB_ID\": only a shell puts in what "
             "$SLURM_JOB_ID" +
                 what,
             "doubtful name: job.yaml:2: \"$HOME/traces\": only a shell puts in what $HOME" + what,
             "doubtful name: job.yaml:2: \"${USER}-{rank}.json\": only a shell puts in what "
             "${USER}" +
                 what,
             "doubtful name: job.yaml:3: \"/x/$_a9\": only a shell puts in what $_a9" + what}));
  // A file's name may have one, and a command has a shell where it wants one.
  EXPECT_EQ(lines_of(from_yaml("run_name: \"5$ $9 ${ a$\"\n"
                               "output: {remote: \"exec:sh -c 'cp {} $HOME/{run_name}/'\"}\n")),
            Lines{});
}

TEST(LoadNames, NamesWithWhatIsAlwaysZero) {
  EXPECT_EQ(lines_of(from_yaml("output: {filename: \"{sample:06d}-{batch}-{rank}.json\",\n"
                               "  remote: \"/d/{run_name}/{token_in_epoch}/\"}\n")),
            (Lines{"doubtful name: job.yaml:1: \"{sample:06d}-{batch}-{rank}.json\": {sample} is 0 "
                   "without step.samples; it stays as it is",
                   "doubtful name: job.yaml:2: \"/d/{run_name}/{token_in_epoch}/\": "
                   "{token_in_epoch} is 0 without step.tokens; it stays as it is"}));
  EXPECT_EQ(lines_of(from_yaml("output: {filename: \"{sample}-{token}-{epoch}-{rank}.json\"}\n"
                               "step: {samples: 32, tokens: 4096}\n")),
            Lines{});
}

TEST(LoadNames, RemotesThatAreTheSameForAllRuns) {
  const auto line = [](const std::string& remote) {
    return "doubtful name: job.yaml:1: \"" + remote +
           "\": another run's files of the same names would be replaced there: name {run_name}, "
           "unless "
           "this text is another in each run; it stays as it is";
  };
  for (const std::string remote :
       {"s3://bucket/traces/", "/there/r{rank}-{batch}.json", "file:///x"}) {
    EXPECT_EQ(lines_of(from_yaml("output: {remote: \"" + remote + "\"}\n")), Lines{line(remote)});
  }
  for (const std::string remote : {"s3://bucket/all.json", "/there/{node_rank}/"}) {
    EXPECT_EQ(lines_of(from_yaml("output: {merged_remote: \"" + remote + "\"}\n")),
              Lines{line(remote)});
  }
  EXPECT_EQ(lines_of(from_yaml("output: {remote: \"s3://b/{run_name}/\",\n"
                               "  merged_remote: \"/x/{run_name:>20}.json\"}\n")),
            Lines{});
  // Who the file's name tells apart already.
  EXPECT_EQ(lines_of(from_yaml("output: {remote: \"s3://b/\", merged_remote: \"s3://b/\",\n"
                               "  filename: \"{run_name}-{batch}-{rank}.json\",\n"
                               "  merged: \"{run_name}.json\"}\n")),
            Lines{});
  EXPECT_EQ(
      lines_of(from_yaml("output: {remote: \"exec:put {}\", merged_remote: \"exec:put {}\"}")),
      Lines{});
}

TEST(LoadNames, RemotesThatPromiseCompression) {
  const std::string remote = "/there/{run_name}/r{rank}-{batch}.json.gz";
  EXPECT_EQ(lines_of(from_yaml("output: {remote: \"" + remote + "\"}\n")),
            Lines{"doubtful name: job.yaml:1: \"" + remote +
                  "\": it ends in .gz and the files are not compressed: set output.gzip, or let it "
                  "end in .json; it stays as it is"});
  for (const char* more : {"gzip: true", "filename: \"r{rank}-{batch}.json.gz\""}) {
    EXPECT_EQ(lines_of(from_yaml("output: {remote: \"" + remote + "\", " + more + "}\n")), Lines{});
  }
}

// The others may be a password.
TEST(LoadNames, OfACommandTheFirstWordIsTold) {
  EXPECT_EQ(lines_of(from_yaml("output: {remote: \"exec:put -p secret {} {rnk}\", merged: null,\n"
                               "  merged_remote: \"exec: get  -p secret\"}\n")),
            (Lines{"doubtful name: job.yaml:1: \"exec:put ...\": there is no variable {rnk}, the "
                   "nearest is rank; it stays as it is",
                   "output.merged_remote: job.yaml:2: \"exec:get ...\": output.merged is null, so "
                   "that there is no such file; nothing is uploaded there"}));
  EXPECT_EQ(lines_of(from_yaml("output: {remote: \"exec:put -p secret {} {run_name}\"}\n",
                               {"TRACEAGENT_OUTPUT_REMOTE=exec:put -p 'secret"})),
            (Lines{"bad value: TRACEAGENT_OUTPUT_REMOTE: \"exec:put ...\": a quote has no end; "
                   "using exec:put ..."}));
}

TEST(LoadNames, NamesThatAreNoTraces) {
  for (const char* none : {"none", "None", "'off'", "false", "no"}) {
    const Loaded loaded = from_yaml("output: {merged: " + std::string(none) + "}\n");
    ASSERT_EQ(loaded.problems.size(), 1U) << none;
    EXPECT_TRUE(loaded.problems[0].line.ends_with(
        ": null means none; using the default node{node_rank}.json"))
        << loaded.problems[0].line;
  }
  EXPECT_EQ(lines_of(from_yaml("output: {filename: \"off\", merged: node.json.bz2}\n")),
            (Lines{"doubtful name: job.yaml:1: \"off\": it does not end in .json or .json.gz, and "
                   "traceagent merge takes no other files of a folder; it stays as it is",
                   "doubtful name: job.yaml:1: \"node.json.bz2\": it does not end in .json or "
                   ".json.gz, and traceagent merge takes no other files of a folder; it stays as "
                   "it is"}));
  EXPECT_EQ(lines_of(from_yaml("output: {filename: \"{rank}.pt.trace.json.gz\", merged: null,\n"
                               "  gzip: true}\n")),
            Lines{});
}

}  // namespace
}  // namespace traceagent::config
