#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "agent/counters/table.hpp"

namespace traceagent::counters {
namespace {

TEST(Counters, TheReferenceIsTheTable) {
  std::ifstream file(TRACEAGENT_SOURCE_DIR "/agent/counters/README.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(reference()), std::string::npos) << reference();
}

TEST(Counters, SharesHaveAWhole) {
  for (const CounterRow& row : rows) {
    int shares = 0, wholes = 0;
    for (const Series& series : row.series) {
      shares += series.kind == Kind::share ? 1 : 0;
      wholes += series.kind == Kind::whole ? 1 : 0;
    }
    EXPECT_EQ(wholes, shares != 0 ? 1 : 0) << row.name;
    EXPECT_NE(row.series[0].kind, Kind::none) << row.name;
  }
}

}  // namespace
}  // namespace traceagent::counters
