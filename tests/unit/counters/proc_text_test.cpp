#include "agent/counters/proc_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace traceagent::counters {
namespace {

TEST(ProcText, WholeNumbersAlone) {
  const auto number = [](std::string_view text) { return take_number(text); };
  EXPECT_EQ(number("  42 kB"), 42U);
  EXPECT_EQ(number("18446744073709551615\n"), UINT64_MAX);
  for (const char* text :
       {"", " ", "-1", "+1", "18446744073709551616", "1.5", "12abc", "0x10", "\n7"}) {
    EXPECT_EQ(number(text), std::nullopt) << text;
  }
}

TEST(ProcText, Memory) {
  EXPECT_EQ(resident_pages("61 16 13 1 0 14 0\n"), 16U);
  EXPECT_EQ(resident_pages("0 0 0 0 0 0 0\n"),
            std::nullopt);  // a thread group whose memory is gone
  EXPECT_EQ(resident_pages("61"), std::nullopt);
  const std::string text = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemTotalX: 3 kB\nSwap: x kB\n";
  EXPECT_EQ(value_of(text, "MemTotal"), 1000U);
  EXPECT_EQ(value_of(text, "Mem"), std::nullopt);
  EXPECT_EQ(value_of(text, "Swap"), std::nullopt);
  EXPECT_EQ(value_of("MemTotal: 12", "MemTotal"), std::nullopt);  // cut: it may have been 1234
}

TEST(ProcText, ThreadsOfAnyName) {
  const std::string rest = " S 1 2 3 4 -1 6 7 8 9 10 11 12 13 14 20 0 7 0 99\n";
  EXPECT_EQ(thread_count("12 (a) b) S (x" + ("(y)" + rest)), 7U);
  EXPECT_EQ(thread_count("12 (python)" + rest), 7U);
  EXPECT_EQ(thread_count("12 (python) S 1 2"), std::nullopt);
  EXPECT_EQ(thread_count("12 python S 1"), std::nullopt);
}

TEST(ProcText, CpuTimes) {
  const auto times = cpu_times("cpu  10 1 5 100 7 2 3 4 9 9\ncpu0 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(*times, (std::array<std::uint64_t, 4>{11, 10, 7, 132}));
  EXPECT_FALSE(cpu_times("cpu0 10 1 5 100 7 2 3 4 9 9\n"));
  EXPECT_FALSE(cpu_times("cpu  10 1 5 100\n"));
  EXPECT_FALSE(cpu_times("cpu  18446744073709551615 1 5 100 7 2 3 4\n"));
}

TEST(ProcText, Devices) {
  const auto disk = disk_of("   8       0 sda 10 1 200 3 20 2 400 5 0 6 7");
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->name, "sda");
  EXPECT_EQ(disk->bytes, (std::array<std::uint64_t, 2>{200 * 512, 400 * 512}));
  EXPECT_FALSE(disk_of("   8       0 sda 10 1 200"));
  EXPECT_FALSE(disk_of("   8       0 sda 10 1 18446744073709551615 3 20 2 400 5"));
  const auto interface = interface_of("  eth0: 1000 1 0 0 0 0 0 0 2000 2 0 0 0 0 0 0");
  ASSERT_TRUE(interface);
  EXPECT_EQ(interface->name, "eth0");
  EXPECT_EQ(interface->bytes, (std::array<std::uint64_t, 2>{1000, 2000}));
  EXPECT_TRUE(interface_of("eth0:1000 1 0 0 0 0 0 0 2000 2"));  // old kernels: no space
  EXPECT_FALSE(interface_of(" face |bytes    packets errs drop"));
  EXPECT_FALSE(interface_of("eth0: 1000 1 0"));
}

TEST(ProcText, ControlGroups) {
  const auto group = [](std::string_view text) { return memory_group(text); };
  ASSERT_TRUE(group("0::/a/b\n"));
  EXPECT_EQ(group("0::/a/b\n")->path, "/a/b");
  EXPECT_TRUE(group("0::/a/b\n")->is_v2);
  const auto mixed = group("0::/x\n5:cpu,memory:/slurm\n4:cpu:/y\n");
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->path, "/slurm");
  EXPECT_FALSE(mixed->is_v2);
  EXPECT_FALSE(group("0::/../../etc\n"));
  EXPECT_FALSE(group("nonsense\n"));
}

}  // namespace
}  // namespace traceagent::counters
