#include "tools/import/mark_batches.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace traceagent::tools {
namespace {

std::string mark(const std::string& us) {
  return R"({"ph":"M","pid":3,"args":{"value": )" + us + "}}";
}
// Of one event, as a scan finds them.
struct Event {
  explicit Event(std::string text) : args(std::move(text)) {
    members.add({"ph", "\"B\""});
    members.add({"args", args});
  }
  std::string args;
  trace::JsonMembers members;
};
Event event(int batch) { return Event(R"({"epoch":1,"batch":)" + std::to_string(batch) + "}"); }

TEST(MarkBatches, AMarkGetsTheBatchOfAnEventUpToTheNextMark) {
  MarkBatches marks;
  const std::string first = mark("1000"), second = mark("2000"), third = mark("3000");
  for (const std::string* line : {&first, &second, &third}) marks.add_mark("3", line);
  marks.add_event("3", 500000, event(7).members);
  marks.add_event("4", 1500000, event(8).members);
  marks.add_event("3", 1500000, Event(R"({"cpu":1,"epoch":1})").members);
  marks.add_event("3", 1600500, event(40).members);
  marks.add_event("3", 1700000, event(41).members);
  marks.add_event("3", 3000000, event(80).members);
  EXPECT_EQ(marks.told(&first), R"({"ph":"M","pid":3,"args":{"batch": [1, 40], "value": 1000}})");
  EXPECT_EQ(marks.told(&second), second);
  EXPECT_EQ(marks.told(&third), R"({"ph":"M","pid":3,"args":{"batch": [1, 80], "value": 3000}})");
}

TEST(MarkBatches, ItIsTheFirstInTimeWhateverTheOrder) {
  MarkBatches marks;
  const std::string first = mark("1000"), second = mark("2000"), late = mark("1500");
  for (const std::string* line : {&first, &second}) marks.add_mark("3", line);
  marks.add_event("3", 1'900'000, event(2).members);
  marks.add_event("3", 2'100'000, event(40).members);
  marks.add_event("3", 1'800'000, event(1).members);
  marks.add_event("3", 1'850'000, event(0).members);
  EXPECT_NE(marks.told(&first).find("[1, 1]"), std::string::npos);
  EXPECT_NE(marks.told(&second).find("[1, 40]"), std::string::npos);
  marks.add_mark("3", &late);
  marks.add_event("3", 1'700'000, event(3).members);
  EXPECT_NE(marks.told(&late).find("[1, 3]"), std::string::npos) << "it begins there";
}

TEST(MarkBatches, WhatTellsItsBatchStays) {
  MarkBatches marks;
  const std::string told = R"({"ph":"M","pid":3,"args":{"batch": 0, "value": 1000}})",
                    odd = mark("\"x\"");
  marks.add_mark("3", &told);
  marks.add_mark("3", &odd);
  marks.add_event("3", 1500000, event(40).members);
  marks.add_event("3", -1500000, event(40).members);
  EXPECT_EQ(marks.told(&told), told);
  EXPECT_EQ(marks.told(&odd), odd);
}

TEST(MarkBatches, AreReadWhateverTheirSpaces) {
  EXPECT_EQ(batch_of_mark(R"({"batch":[ 1,40 ]})"), "[1, 40]");
  for (const char* args : {"", "{}", R"({"batch":1})", R"({"batch":[1]})", R"({"batch":[1,2,3]})",
                           R"({"batch":["1",2]})"}) {
    EXPECT_EQ(batch_of_mark(args), "") << args;
  }
}

}  // namespace
}  // namespace traceagent::tools
