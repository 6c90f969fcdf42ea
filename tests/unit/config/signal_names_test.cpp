#include "config/signal_names.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "config/options.hpp"

namespace traceagent::config {
namespace {

using Numbers = std::vector<int>;

TEST(SignalNames, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_signals("").numbers, Numbers{});
  EXPECT_EQ(parse_signals("TERM").numbers, Numbers{SIGTERM});
  EXPECT_EQ(parse_signals(" SIGTERM ,INT,USR1").numbers, (Numbers{SIGTERM, SIGINT, SIGUSR1}));
}

TEST(SignalNames, RefusesWhatCannotBeHadOrTrusted) {
  for (const char* bad : {"KILL", "SEGV", "STOP", "15", "TERM,", ",", "TERM INT"}) {
    EXPECT_NE(parse_signals(bad).problem, "") << bad;
    EXPECT_EQ(parse_signals(bad).numbers, Numbers{}) << bad;
  }
  EXPECT_NE(parse_signals("TREM").problem.find("the nearest is TERM"), std::string::npos);
}

std::string signals_of(std::string_view yaml, std::size_t problems = 0) {
  const Loaded loaded = load_text("a.yaml", yaml, Environment(nullptr));
  EXPECT_EQ(loaded.problems.size(), problems) << yaml;
  return loaded.options.signals;
}

TEST(SignalNames, AreAListInYaml) {
  EXPECT_EQ(signals_of("signals: [TERM, INT]"), "TERM, INT");
  EXPECT_EQ(signals_of("signals:\n  - TERM\n  - HUP\nquiet: true\n"), "TERM, HUP");
  EXPECT_EQ(signals_of("signals: []"), "");
  EXPECT_EQ(signals_of("signals: TERM"), "TERM");
  EXPECT_EQ(signals_of("signals: [TERM, [INT]]", 1), "");
  EXPECT_EQ(signals_of("signals: {TERM: true}", 1), "");
  EXPECT_EQ(signals_of("signals: [TERM]\nsignals: [INT, HUP]", 1), "TERM");
  EXPECT_EQ(signals_of("quiet: [TERM]\nrun_name: x", 1), "");
}

}  // namespace
}  // namespace traceagent::config
