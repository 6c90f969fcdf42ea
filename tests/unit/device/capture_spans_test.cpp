#include "agent/device/capture_spans.hpp"

#include <gtest/gtest.h>

namespace traceagent::device {
namespace {

constexpr std::uint64_t stream = 0x50;
constexpr std::uint32_t thread = 3;

CaptureEdge begin(std::int64_t at_ns) { return {thread, stream, at_ns, at_ns + 1, 0, true}; }
CaptureEdge end(std::int64_t at_ns) { return {thread, stream, at_ns, at_ns + 1, 0, false}; }

TEST(CaptureSpans, HoldWhatIsBetweenBeginAndEnd) {
  const CaptureSpans spans({begin(10), end(20)});
  EXPECT_FALSE(spans.hold(thread, stream, 5));
  EXPECT_TRUE(spans.hold(thread, stream, 15));
  EXPECT_FALSE(spans.hold(thread, stream, 25));
}

// The record of the first one's end found no room: it is over when the stream is captured again.
TEST(CaptureSpans, AnEndThatWasLostDoesNotHoldTheThreadForEver) {
  const CaptureSpans spans({begin(10), begin(30), end(40)});
  EXPECT_TRUE(spans.hold(thread, stream, 15));
  EXPECT_TRUE(spans.hold(thread, stream, 35));
  EXPECT_FALSE(spans.hold(thread, stream, 45));
}

}  // namespace
}  // namespace traceagent::device
