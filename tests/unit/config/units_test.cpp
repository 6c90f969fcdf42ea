#include "config/units.hpp"

#include <gtest/gtest.h>

#include <random>

namespace traceagent::config {
namespace {

void expect_bytes(std::string_view text, std::uint64_t expected) {
  const Quantity read = parse_bytes(text);
  EXPECT_EQ(read.problem, "") << text;
  EXPECT_EQ(read.value, expected) << text;
}

void expect_duration(std::string_view text, std::uint64_t expected_ns) {
  const Quantity read = parse_duration(text);
  EXPECT_EQ(read.problem, "") << text;
  EXPECT_EQ(read.value, expected_ns) << text;
}

TEST(Units, Bytes) {
  expect_bytes("0", 0);
  expect_bytes("4096", 4096);
  expect_bytes("512B", 512);
  expect_bytes("512KiB", 524288);
  expect_bytes("64MiB", 67108864);
  expect_bytes("1GiB", 1073741824);
  expect_bytes("2TiB", 2199023255552);
  expect_bytes("64MB", 64000000);
  expect_bytes("3KB", 3000);
  expect_bytes("1GB", 1000000000);
  expect_bytes("1TB", 1000000000000);
  expect_bytes("1.5GiB", 1610612736);
  expect_bytes(" 64 MiB ", 67108864);
  expect_bytes("64mib", 67108864);
  expect_bytes("18446744073709551615", 18446744073709551615U);
}

TEST(Units, Durations) {
  expect_duration("0", 0);
  expect_duration("0s", 0);
  expect_duration("7ns", 7);
  expect_duration("10us", 10000);
  expect_duration("10\xc2\xb5s", 10000);
  expect_duration("250ms", 250000000);
  expect_duration("5s", 5000000000);
  expect_duration("0.5s", 500000000);
  expect_duration("2min", 120000000000);
  expect_duration("7d", 604800000000000);
  expect_duration("1h", 3600000000000);
  expect_duration("1.5 h", 5400000000000);
}

TEST(Units, SaysWhatIsWrongWithASize) {
  EXPECT_EQ(parse_bytes("").problem, "not a size such as 64MiB");
  EXPECT_EQ(parse_bytes("many").problem, "not a size such as 64MiB");
  EXPECT_EQ(parse_bytes("-1").problem, "not a size such as 64MiB");
  EXPECT_EQ(parse_bytes("64Mi").problem, "unknown unit \"Mi\", the nearest is MiB");
  EXPECT_EQ(parse_bytes("64M").problem, "unknown unit \"M\", it may be MiB or MB");
  EXPECT_EQ(parse_bytes("64x").problem,
            "unknown unit \"x\", the units are B KB MB GB TB KiB MiB GiB TiB");
  EXPECT_EQ(parse_bytes("64 MiBs").problem, "unknown unit \"MiBs\", the nearest is MiB");
  EXPECT_EQ(parse_bytes("64parsecs").problem,
            "unknown unit \"parsecs\", the units are B KB MB GB TB KiB MiB GiB TiB");
  EXPECT_EQ(parse_bytes("1.2.3MiB").problem, "not a number");
  EXPECT_EQ(parse_bytes(".").problem, "not a number");
  EXPECT_EQ(parse_bytes("18446744073709551616").problem, "too large");
  EXPECT_EQ(parse_bytes("18446744073709551615KiB").problem, "too large");
  EXPECT_EQ(parse_bytes("99999999.5TiB").problem, "too large");
}

TEST(Units, SaysWhatIsWrongWithADuration) {
  EXPECT_EQ(parse_duration("").problem, "not a duration such as 5s");
  EXPECT_EQ(parse_duration("soon").problem, "not a duration such as 5s");
  EXPECT_EQ(parse_duration("5").problem, "the unit is missing, such as in 5s");
  EXPECT_EQ(parse_duration("5sec").problem,
            "unknown unit \"sec\", the units are ns us ms s min h d");
  EXPECT_EQ(parse_duration("5mn").problem, "unknown unit \"mn\", the nearest is min");
  EXPECT_EQ(parse_duration("5m").problem, "unknown unit \"m\", it may be min or ms");
  EXPECT_EQ(parse_duration("5U").problem, "unknown unit \"U\", it may be us");
  EXPECT_EQ(parse_duration("5w").problem, "unknown unit \"w\", the units are ns us ms s min h d");
  EXPECT_EQ(parse_duration("6000000h").problem, "too large");
}

TEST(Units, ShowsTheLargestUnitThatFits) {
  EXPECT_EQ(show_bytes(0), "0B");
  EXPECT_EQ(show_bytes(1), "1B");
  EXPECT_EQ(show_bytes(67108864), "64MiB");
  EXPECT_EQ(show_bytes(1610612736), "1536MiB");
  EXPECT_EQ(show_bytes(64000000), "62500KiB");
  EXPECT_EQ(show_duration(0), "0ns");
  EXPECT_EQ(show_duration(5000000000), "5s");
  EXPECT_EQ(show_duration(60000000000), "1min");
  EXPECT_EQ(show_duration(1500000000), "1500ms");
}

TEST(Units, ReadsBackWhatItShows) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t value = (random() >> (random() % 64)) << (random() % 20);
    expect_bytes(show_bytes(value), value);
    expect_duration(show_duration(value), value);
  }
}

TEST(Units, SharesAreInMillionths) {
  for (const auto& [text, millionths] :
       std::initializer_list<std::pair<const char*, std::uint64_t>>{{"1%", 10'000},
                                                                    {"0.5%", 5'000},
                                                                    {"0.0001%", 1},
                                                                    {"100%", 1'000'000},
                                                                    {"2.25 %", 22'500},
                                                                    {"0", 0},
                                                                    {"0%", 0}}) {
    const Quantity read = parse_percent(text);
    EXPECT_EQ(read.problem, "") << text;
    EXPECT_EQ(read.value, millionths) << text;
    EXPECT_EQ(parse_percent(show_percent(millionths)).value, millionths) << text;
  }
  EXPECT_EQ(show_percent(5'000), "0.5%");
  EXPECT_EQ(show_percent(1'000'000), "100%");
  EXPECT_EQ(parse_percent("1").problem, "the % is missing, such as in 1%");
  EXPECT_EQ(parse_percent("little").problem, "not a share such as 1%");
  EXPECT_EQ(parse_percent("1s").problem, "not a share such as 1%");
  EXPECT_EQ(parse_percent("101%").problem, "more than 100%");
  // 0 is no limit, which nobody who asks for so little wants.
  EXPECT_EQ(parse_percent("0.00001%").problem, "less than 0.0001%, the smallest share");
  EXPECT_EQ(parse_percent("0.00001").problem, "the % is missing, such as in 0.00001%");
  EXPECT_EQ(parse_percent("0.000%").problem, "");
}

}  // namespace
}  // namespace traceagent::config
