#include "agent/trace/repeated_events.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/merge_input.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

TEST(RepeatedEvents, AreThoseThatAnotherInputHasToldAsOften) {
  RepeatedEvents events;
  EXPECT_FALSE(events.is_repeated(0, 5, "a"));
  EXPECT_FALSE(events.is_repeated(0, 5, "a")) << "its own";
  EXPECT_FALSE(events.is_repeated(0, 5, "b"));
  EXPECT_TRUE(events.is_repeated(1, 5, "a"));
  EXPECT_TRUE(events.is_repeated(1, 5, "a"));
  EXPECT_FALSE(events.is_repeated(1, 5, "a")) << "one more than the other";
  EXPECT_FALSE(events.is_repeated(1, 5, "c"));
  EXPECT_FALSE(events.is_repeated(1, 6, "b")) << "at another time";
  EXPECT_FALSE(events.is_repeated(2, 5, "a")) << "what is over is forgotten";
  EXPECT_EQ(events.count(), 2U);
}

TEST(RepeatedEvents, AreEqualButForSpacesBetweenTokens) {
  RepeatedEvents events;
  EXPECT_FALSE(events.is_repeated(0, 5, R"("name":"a b\" \\","args":{"i":1,"s":"x y"}})"));
  EXPECT_TRUE(events.is_repeated(1, 5, R"("name": "a b\" \\", "args": {"i": 1, "s": "x y"}})"));
  EXPECT_FALSE(events.is_repeated(2, 5, R"("name":"ab\" \\","args":{"i":1,"s":"x y"}})"));
  EXPECT_FALSE(events.is_repeated(3, 5, R"("name":"a b\" \\","args":{"i":1,"s":"xy"}})"));
}

TEST(RepeatedEvents, MoreThanAreComparedAreTold) {
  RepeatedEvents events;
  for (std::size_t i = 0; i < RepeatedEvents::most; ++i) {
    ASSERT_FALSE(events.is_repeated(0, 5, std::to_string(i)));
  }
  EXPECT_FALSE(events.is_any_not_compared());
  EXPECT_FALSE(events.is_repeated(0, 5, "one more"));
  EXPECT_TRUE(events.is_any_not_compared());
  EXPECT_TRUE(events.is_repeated(1, 5, "0"));
}

// From one time to another, both within.
class Window final : public Selection {
 public:
  Window(std::int64_t begin_ns, std::int64_t end_ns) : begin_ns_(begin_ns), end_ns_(end_ns) {}

 private:
  class Filter final : public EventFilter {
   public:
    explicit Filter(const Window& window) : window_(window) {}
    bool keeps(TraceLine&, std::int64_t& ns) override {
      return window_.begin_ns_ <= ns && ns <= window_.end_ns_;
    }
    std::size_t memory_bytes() const override { return 0; }

   private:
    const Window& window_;
  };
  bool has_rank(std::int64_t) const override { return true; }
  bool has_all_ranks() const override { return true; }
  void see(const std::vector<MergeInput>&) override {}
  std::unique_ptr<EventFilter> filter_of(const MergeInput&) override {
    return std::make_unique<Filter>(*this);
  }
  JsonObject description() const override { return JsonObject().add("time", begin_ns_); }
  JsonObject left_out() const override { return {}; }
  std::uint64_t clipped() const override { return 0; }

  std::int64_t begin_ns_, end_ns_;
};

TEST(Merge, windows_that_overlap_and_copies_of_them_hold_each_event_once) {
  ScratchFolder folder;
  constexpr std::int64_t base = 1700000000000000000;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    ranks.push_back(write_sample(folder / ("r" + std::to_string(rank) + ".json"),
                                 {.rank = rank, .times_ns = {10, 20, 20, 30, 40}}));
  }
  const auto window = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
    Window selection(base + begin, base + end);
    MergeOptions options;
    options.selection = &selection;
    EXPECT_EQ(merge(ranks, folder / name, options).problem, "");
    return folder / name;
  };
  const std::string first = window("first.json", 0, 30);
  const std::string second = window("second.json", 20, 50);
  const std::string copy = folder / "copy.json";
  std::filesystem::copy_file(first, copy);
  ASSERT_EQ(merge(ranks, folder / "all.json").events, 10U);
  const ReadTrace all = read_trace(folder / "all.json");

  const auto merged = [&](const std::vector<std::string>& inputs) {
    const MergeReport report = merge(inputs, folder / "m.json");
    EXPECT_EQ(report.problem, "");
    for (const MergedInput& input : report.inputs) EXPECT_EQ(input.problem, "");
    return report;
  };
  const MergeReport both = merged({first, second});
  EXPECT_EQ(both.repeated, 6U);
  const ReadTrace joined = read_trace(folder / "m.json");
  EXPECT_EQ(joined.events, all.events);
  EXPECT_EQ(joined.header.sources, all.header.sources);
  EXPECT_EQ(joined.metadata_events, all.metadata_events);
  EXPECT_EQ(member(joined.footer.metadata, "merged"), member(all.footer.metadata, "merged"));

  EXPECT_EQ(merged({first, copy}).events, 8U);
  // Of one of its two ranks the window has nothing that is not in that rank's file.
  const MergeReport with_rank = merged({first, ranks[0]});
  EXPECT_EQ(with_rank.events, 9U);
  EXPECT_EQ(with_rank.repeated, 4U);
}

}  // namespace
}  // namespace traceagent::trace
