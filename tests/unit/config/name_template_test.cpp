#include "config/name_template.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

NameVariables all_variables() {
  NameVariables v;
  v.run_name = "my-run";
  v.rank = 3;
  v.local_rank = 1;
  v.world_size = 8;
  v.local_world_size = 2;
  v.node_rank = 1;
  v.epoch = 2;
  v.batch = 105;
  v.batch_in_epoch = 5;
  v.sample = 3360;
  v.sample_in_epoch = 160;
  v.token = 688128;
  v.token_in_epoch = 32768;
  v.total_wct = 61.25;
  v.epoch_wct = 3.5;
  v.batch_wct = 0.125;
  return v;
}

std::string name(std::string_view text, const NameVariables& variables = all_variables()) {
  const FormattedName result = format_name(text, variables);
  EXPECT_EQ(result.problem, "") << text;
  return result.name;
}

TEST(NameTemplate, TheDefaults) {
  EXPECT_EQ(name("{run_name}/traces"), "my-run/traces");
  EXPECT_EQ(name("ep{epoch}-ba{batch}-rank{rank}.json"), "ep2-ba105-rank3.json");
  EXPECT_EQ(name("node{node_rank}.json"), "node1.json");
}

TEST(NameTemplate, EveryVariable) {
  EXPECT_EQ(name("{run_name} {rank} {local_rank} {world_size} {local_world_size} {node_rank}"),
            "my-run 3 1 8 2 1");
  EXPECT_EQ(name("{epoch} {batch} {batch_in_epoch} {sample} {sample_in_epoch}"),
            "2 105 5 3360 160");
  EXPECT_EQ(name("{token} {token_in_epoch} {total_wct} {epoch_wct} {batch_wct}"),
            "688128 32768 61.25 3.5 0.125");
}

TEST(NameTemplate, Specifications) {
  EXPECT_EQ(name("{batch:06d}"), "000105");
  EXPECT_EQ(name("{total_wct:.2f}"), "61.25");
  EXPECT_EQ(name("{rank:>4}|{rank:<4}|{rank:^4}|{rank:04x}"), "   3|3   | 3  |0003");
  EXPECT_EQ(name("{run_name:.2s}"), "my");
  EXPECT_EQ(name("{sample:,}"), "3,360");
  EXPECT_EQ(name("{rank:}"), "3");
}

TEST(NameTemplate, BracesAndUnknownVariablesStay) {
  EXPECT_EQ(name("{{rank}}"), "{rank}");
  EXPECT_EQ(name("{{{rank}}}"), "{3}");
  EXPECT_EQ(name("{host}-{rank}"), "{host}-3");
  EXPECT_EQ(name("{host:>10}"), "{host:>10}");
  EXPECT_EQ(name("{}"), "{}");
  EXPECT_EQ(name("{0}"), "{0}");
  EXPECT_EQ(name(""), "");
}

TEST(NameTemplate, VariablesThatAreNotSetStay) {
  const NameVariables node_only{.run_name = "r"};
  EXPECT_EQ(name("{run_name}/ep{epoch}-ba{batch:06d}-{total_wct:.2f}-{rank}", node_only),
            "r/ep{epoch}-ba{batch:06d}-{total_wct:.2f}-0");
}

TEST(NameTemplate, SaysWhatIsWrong) {
  const auto problem = [](std::string_view text) {
    const FormattedName result = format_name(text, all_variables());
    EXPECT_EQ(result.name, "") << text;
    return result.problem;
  };
  EXPECT_EQ(problem("a{rank"), "a '{' has no '}' after it");
  EXPECT_EQ(problem("a{"), "a '{' has no '}' after it");
  EXPECT_EQ(problem("rank}"), "a '}' has no '{' before it");
  EXPECT_EQ(problem("{rank}}"), "a '}' has no '{' before it");
  EXPECT_EQ(problem("{rank:{batch}}"), "a '{' stands inside braces");
  EXPECT_EQ(problem("{batch:06q}"), "{batch:06q}: unknown format \"06q\"");
  EXPECT_EQ(problem("{run_name:06d}"), "{run_name:06d}: format d is for numbers, and this is text");
  EXPECT_EQ(problem("{total_wct:d}"), "{total_wct:d}: format d is not for a number of seconds");
  EXPECT_EQ(problem("{rank:999d}"), "{rank:999d}: the width in \"999d\" is over 255");
}

std::string with_run(std::string_view text, std::string run_name) {
  return name(text, NameVariables{.run_name = std::move(run_name)});
}

TEST(NameTemplate, TheRunsNameStaysOnePartOfThePath) {
  EXPECT_EQ(with_run("{run_name}/traces", "../../etc"), "_._.._etc/traces");
  EXPECT_EQ(with_run("{run_name}/traces", "/etc"), "_etc/traces");
  EXPECT_EQ(with_run("{run_name}/traces", ".."), "_./traces");
  EXPECT_EQ(with_run("{run_name}/traces", "."), "_/traces");
  EXPECT_EQ(with_run("{run_name}/traces", ""), "_/traces");
  EXPECT_EQ(with_run("out/.{run_name}/traces", "."), "out/._/traces");
  EXPECT_EQ(with_run("{run_name}", "a\nb\x01\x7f"), "a_b__");
  EXPECT_EQ(with_run("{run_name}", std::string("a\0b", 3)), "a_b");
  EXPECT_EQ(with_run("{run_name:.0s}/x", "abc"), "_/x");
  EXPECT_EQ(with_run("{run_name}", "v1.2..3"), "v1.2..3");
  EXPECT_EQ(with_run("{run_name}", "gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(NameTemplate, TheTemplatesOwnSlashesStay) {
  EXPECT_EQ(name("../{run_name}//x/{rank}"), "../my-run//x/3");
}

TEST(NameTemplate, ALongNameLeavesRoomForTheRest) {
  EXPECT_EQ(with_run("{run_name}", std::string(5000, 'x')), std::string(200, 'x'));
  // Cut between characters, not within one.
  std::string umlauts;
  for (int i = 0; i < 150; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(with_run("{run_name}", "x" + umlauts).size(), 199U);
}

TEST(NameTemplate, HostileRunNamesNeverLeaveTheirFolder) {
  std::mt19937 random(11);
  const std::string alphabet("./._\0\n~a\xc0\xaf\xff", 12);
  for (int round = 0; round < 50000; ++round) {
    std::string run_name;
    for (unsigned i = random() % 8; i > 0; --i) run_name += alphabet[random() % alphabet.size()];
    const std::string path = with_run("top/{run_name}/end", run_name);
    ASSERT_TRUE(path.starts_with("top/") && path.ends_with("/end")) << path;
    const std::string part = path.substr(4, path.size() - 8);
    ASSERT_FALSE(part.empty() || part == "." || part == "..") << path;
    ASSERT_EQ(part.find('/'), std::string::npos) << path;
    ASSERT_EQ(part.find('\0'), std::string::npos) << path;
    ASSERT_TRUE(is_utf8(part)) << path;
  }
}

TEST(NameTemplate, AnyTextHasATemplate) {
  EXPECT_EQ(name(as_template("/home/{me}/}{") + "/{rank}"), "/home/{me}/}{/3");
}

TEST(NameTemplate, ListsTheVariables) {
  EXPECT_EQ(variables_in("a{rank:04d}{{x}}{host}{"), (std::vector<std::string>{"rank", "host"}));
  EXPECT_EQ(node_variable_names().size(), 6U);
  EXPECT_EQ(batch_variable_names().size(), 10U);
}

TEST(TemplateProblem, IsOneLineWhateverTheTemplateHolds) {
  const std::string problem = template_problem("{rank:\x1b[31m\n}");
  EXPECT_FALSE(problem.empty());
  EXPECT_FALSE(has_control_character(problem)) << problem;
}

}  // namespace
}  // namespace traceagent::config
