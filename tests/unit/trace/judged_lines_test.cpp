#include "agent/trace/judged_lines.hpp"

#include <gtest/gtest.h>

#include <string>

namespace traceagent::trace {
namespace {

constexpr char event[] = R"({"ts":1.500,"dur":0.100,"ph":"X","pid":0,"tid":1,"args":{}})";

std::string text_of(const JudgedLines& judged, const std::string& text) {
  std::string all;
  for (const MadeEvents::Line& line : judged.lines) {
    all += text.substr(line.offset, line.bytes) + "|";
  }
  return all;
}

TEST(JudgedLines, AreTheEventsBehindTheFirstNewline) {
  const std::string text = "rest,\n" + std::string(event) + ",\n" + event + "\n{\"ts\":2.0";
  LineJudge judge;
  JudgedLines judged;
  judged.judge(text.data(), 0, text.size(), judge);
  EXPECT_EQ(text_of(judged, text), std::string(event) + "|" + event + "|");
  EXPECT_EQ(judged.begin, 6U);
  EXPECT_EQ(text.substr(judged.end), "{\"ts\":2.0");
  EXPECT_EQ(judged.lines[1].ts_ns, 1500);
  EXPECT_EQ(text.substr(judged.lines[1].offset + judged.lines[1].after_ts, 6), ",\"dur\"");
}

TEST(JudgedLines, EndBeforeWhatIsNoEvent) {
  const std::string line = std::string(event) + ",\n";
  for (const std::string other :
       {R"({"ph":"M","name":"process_name","pid":0})", R"({"ts":1.5,"ph":"X"})", "],", "",
        R"({"ts":1.500,"ph":"X)", R"({"ts":1.500,"ph":X})"}) {
    const std::string text = "\n" + line + line + other + "\n" + line;
    LineJudge judge;
    JudgedLines judged;
    judged.judge(text.data(), 0, text.size(), judge);
    EXPECT_EQ(judged.lines.size(), 2U) << other;
    EXPECT_EQ(judged.end, 1 + 2 * line.size()) << other;
  }
}

TEST(JudgedLines, AreNoneOfABlockWithinOneLine) {
  const std::string text(100, ' ');
  LineJudge judge;
  JudgedLines judged;
  judged.judge(text.data(), 0, text.size(), judge);
  EXPECT_TRUE(judged.lines.empty());
}

TEST(JudgedLines, AreBounded) {
  std::string text = "\n";
  for (int i = 0; i < 5000; ++i) text += "{\"ts\":1.000}\n";
  LineJudge judge;
  JudgedLines judged;
  judged.judge(text.data(), 0, text.size(), judge);
  EXPECT_EQ(judged.lines.size(), JudgedLines::most_lines);
  EXPECT_EQ(judged.memory_bytes(), JudgedLines::most_lines * sizeof(MadeEvents::Line));
}

}  // namespace
}  // namespace traceagent::trace
