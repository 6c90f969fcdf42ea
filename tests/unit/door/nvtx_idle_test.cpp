// What the NVTX door does while nothing is recorded.
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/unit/door/nvtx_client.hpp"

namespace traceagent::door {
namespace {

struct Seen final : step::StepListener {
  void on_step_begin(std::uint64_t, std::uint64_t) noexcept override { ++begun; }
  void on_step_end(std::uint64_t, std::uint64_t) noexcept override { ++ended; }
  void on_step_retracted(std::uint64_t) noexcept override {}
  int begun = 0, ended = 0;
};

// While nothing is recorded, to step detection alone.
struct Listening {
  explicit Listening(std::string_view mark) : steps(config::parse_step_mark(mark).mark, seen) {
    report_to(&steps);
    step::set_all_modes(step::Mode::observe);
  }
  ~Listening() { report_to(nullptr); }
  Seen seen;
  step::Tracker steps;
};

using NvtxIdleTest = NvtxTest;

TEST_F(NvtxIdleTest, AMessageThatNobodyAsksForIsNotRead) {
  const auto* nowhere = reinterpret_cast<const char*>(0x10);
  const auto push_all = [&] {
    nvtxEventAttributes_t attributes{};
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = nowhere;
    push(nowhere);
    core<int(const wchar_t*)>(NVTX_CBID_CORE_RangePushW)(reinterpret_cast<const wchar_t*>(nowhere));
    core<int(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_RangePushEx)(&attributes);
    core<void(const char*)>(NVTX_CBID_CORE_MarkA)(nowhere);
    EXPECT_EQ(core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA)(nowhere), 0u);
    for (int i = 0; i < 3; ++i) pop();
  };
  step::set_all_modes(step::Mode::pass);
  push_all();
  const Listening by_time("every:1s");
  push_all();
  EXPECT_TRUE(recording.records().empty());
}

TEST_F(NvtxIdleTest, TooDeepRangesAreNoLossThen) {
  for (int i = 0; i < 64; ++i) push("recorded");
  step::set_all_modes(step::Mode::pass);
  for (int i = 0; i < 70; ++i) push("deep");
  for (int i = 0; i < 134; ++i) pop();
  EXPECT_EQ(recording.dropped(ring::DropCause::ranges_too_deep), 1u) << "of those recorded";
  for (const event::Record* record : recording.records()) EXPECT_NE(record->end_ticks.load(), 0u);
}

// What is read on the way ends with the page: a name is compared by its first letter alone.
TEST_F(NvtxIdleTest, ANameThatIsNoStepsIsReadNoFurtherThanItsFirstLetter) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* last = static_cast<char*>(memory) + page - 1;
  *last = 'f';
  ASSERT_EQ(mprotect(last + 1, page, PROT_NONE), 0);
  for (const auto* mark : {"auto", "nvtx:step"}) {
    const Listening listening(mark);
    push(last);
    pop();
    EXPECT_EQ(listening.seen.begun, 0);
  }
  munmap(memory, 2 * page);
}

TEST_F(NvtxIdleTest, StepsAreHeardByTheirWholeNames) {
  const std::string name(120, 's');
  const Listening listening("nvtx:" + name);
  const std::string numbered = name + " 7";
  push(numbered.c_str());
  push("forward");
  pop();
  EXPECT_EQ(listening.seen.begun, 1);
  EXPECT_EQ(listening.seen.ended, 0);
  pop();
  EXPECT_EQ(listening.seen.ended, 1);
  const auto id = core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA)(name.c_str());
  EXPECT_EQ(listening.seen.begun, 2);
  core<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd)(id);
  EXPECT_EQ(listening.seen.ended, 2);
  core<void(const char*)>(NVTX_CBID_CORE_MarkA)(name.c_str());
  EXPECT_EQ(listening.seen.begun, 3);
  EXPECT_TRUE(recording.records().empty());
}

}  // namespace
}  // namespace traceagent::door
