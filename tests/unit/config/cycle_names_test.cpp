#include "config/cycle_names.hpp"

#include <gtest/gtest.h>

namespace traceagent::config {
namespace {

struct Case {
  const char* name_template;
  std::uint64_t per_epoch = 0, repeat = 0, samples = 0;
  bool is_shared = false;
};

TEST(CycleNames, AreToldApartByWhatIsDifferentInEach) {
  const Case cases[] = {
      {"r{rank}-{batch}.json"},
      {"{batch:06d}", 100},
      {"{epoch}/{batch_in_epoch:03d}", 100},
      {"{batch:.2e}", 0, 0, 0, true},
      {"{rank}", 0, 0, 0, true},
      {"{rank}", 0, 1},  // one cycle alone
      {"{rank}", 100, 1, 0, true},
      {"{epoch}", 0, 0, 0, true},
      {"{epoch}", 0, 1},
      {"{epoch}", 100, 1},
      {"{epoch}", 100, 2, 0, true},
      {"{epoch}", 6, 0},  // an epoch ends with the second cycle's warm-up
      {"{epoch}", 7, 0, 0, true},
      {"{batch_in_epoch}"},
      {"{batch_in_epoch}", 100, 0, 0, true},
      {"{sample}", 0, 0, 0, true},
      {"{sample}", 100, 0, 32},
      {"{epoch}-{sample_in_epoch}", 100, 0, 32},
      {"{sample_in_epoch}", 100, 0, 32, true},
      {"{total_wct}"},
      {"{epoch}-{batch_wct}", 100, 0, 0, true},
  };
  for (const Case& each : cases) {
    Options options;
    options.step_per_epoch = each.per_epoch;
    options.schedule_repeat = each.repeat;
    options.step_samples = each.samples;
    EXPECT_EQ(cycles_share_name(each.name_template, options), each.is_shared)
        << each.name_template << " " << each.per_epoch << " " << each.repeat;
  }
}

}  // namespace
}  // namespace traceagent::config
