#include "tools/clocks/collective_line.hpp"

#include <gtest/gtest.h>

#include <string>

namespace traceagent::tools {
namespace {

std::string line_of(const std::string& args, const std::string& category = "kernel") {
  return R"({"ts":1.000,"dur":12.345,"ph":"X","cat":")" + category +
         R"(","name":"ncclDevKernel","pid":0,"tid":7,"args":{)" + args + "}}";
}

std::string collective(const std::string& name, const std::string& more = "") {
  return line_of(
      R"("Collective name":")" + name +
      R"(","In msg nelems":4,"Group size":8,"Seq":41,"comm hash":"0xab12","comm rank":3)" + more);
}

TEST(CollectiveLine, all_that_it_says) {
  const auto line = collective_line(collective("allreduce", R"x(,"time error (us)":1.5)x"));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->key, (CollectiveKey{0xab12, 41}));
  EXPECT_TRUE(line->tells_start && line->tells_end);
  EXPECT_EQ(line->duration_ns, 12345);
  EXPECT_EQ(line->error_ns, 2000);
}

TEST(CollectiveLine, who_waits_for_whom) {
  const struct {
    const char* name;
    const char* root;
    bool start;
    bool end;
  } kinds[] = {
      {"_allgather_base", "", true, true},
      {"_reduce_scatter_base", "", true, true},
      {"alltoall", "", true, true},
      {"barrier", "", true, true},
      {"broadcast", R"(,"root":3)", true, false},
      {"broadcast", R"(,"root":1)", false, true},
      {"scatter", R"(,"root":3)", true, false},
      {"reduce", R"(,"root":3)", false, true},
      {"reduce", R"(,"root":1)", true, false},
      {"gather", R"(,"root":1)", true, false},
  };
  for (const auto& kind : kinds) {
    const auto line = collective_line(collective(kind.name, kind.root));
    ASSERT_TRUE(line) << kind.name;
    EXPECT_EQ(line->tells_start, kind.start) << kind.name << kind.root;
    EXPECT_EQ(line->tells_end, kind.end) << kind.name << kind.root;
  }
}

TEST(CollectiveLine, a_receive_waits_for_the_send_that_it_meets) {
  const auto sent = collective_line(collective("send", R"(,"Dst Rank":5)"));
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->tells_start && !sent->tells_end);
  const auto received = [](const std::string& from, const std::string& own) {
    return collective_line(line_of(
        R"("Collective name":"recv","In msg nelems":4,"Group size":8,"Seq":41,"comm hash":"0xab12",)"
        R"("comm rank":)" +
        own + R"(,"Src Rank":)" + from));
  };
  const auto met = received("3", "5");
  ASSERT_TRUE(met);
  EXPECT_TRUE(!met->tells_start && met->tells_end);
  EXPECT_EQ(met->key, sent->key);
  EXPECT_NE(received("5", "3")->key, sent->key);
  EXPECT_NE(received("3", "6")->key, sent->key);
  EXPECT_NE(collective_line(collective("allreduce"))->key, sent->key);
}

TEST(CollectiveLine, what_says_nothing_of_clocks) {
  for (
      const std::string& line :
      {collective("send"), collective("alltoallv"), collective("broadcast"),
       collective("allreduce", R"(,"graph node id":5)"),
       collective("allreduce", R"(,"In split size":"[1, 0]")"),
       // A call returns before the collective is done.
       line_of(R"("Collective name":"allreduce","Group size":8,"Seq":4,"comm hash":"0x1")", "nccl"),
       line_of(R"("Collective name":"allreduce","Group size":1,"Seq":4,"comm hash":"0x1")"),
       line_of(
           R"("Collective name":"allreduce","In msg nelems":0,"Group size":2,"Seq":4,"comm hash":"0x1")"),
       line_of(R"("Collective name":"allreduce","Group size":2,"comm hash":"0x1")"),
       line_of(R"("Collective name":"allreduce","Group size":2,"Seq":4)"),
       line_of(R"("note":"Seq\": 4")"), std::string("{\"Seq\":"), std::string()}) {
    EXPECT_FALSE(collective_line(line)) << line;
  }
}

TEST(CollectiveLine, groups_of_pytorch_are_told_by_name_and_ranks) {
  const auto with_ranks = [](const std::string& ranks) {
    return collective_line(line_of(
        R"("Collective name": "all_gather_into_tensor", "Group size": 2, "Seq": 7, "Process Group Name": "5", "Process Group Ranks": ")" +
        ranks + "\""));
  };
  ASSERT_TRUE(with_ranks("[0, 8]"));
  EXPECT_EQ(with_ranks("[0, 8]")->key, with_ranks("[0, 8]")->key);
  EXPECT_NE(with_ranks("[0, 8]")->key, with_ranks("[1, 9]")->key);
}

}  // namespace
}  // namespace traceagent::tools
