#include "agent/step/state.hpp"

#include <gtest/gtest.h>

namespace traceagent::step {
namespace {

class Modes : public testing::Test {
 protected:
  ~Modes() override { set_all_modes(Mode::unstarted); }
};

TEST_F(Modes, WhatIsLeftOutIsHeardWhereItMakesTheSteps) {
  Watch watch;
  watch.left_out = all_classes;
  watch.unheard = mask_of(CallClass::launch);
  set_modes(State::active, interest_collectives | interest_ranges | interest_launches, watch);
  EXPECT_EQ(mode_of(CallClass::collective), Mode::observe);
  EXPECT_EQ(mode_of(CallClass::range), Mode::observe);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::pass);
  EXPECT_FALSE(recording.load());

  watch.counted = cudart_classes;
  set_modes(State::active, interest_calls, watch);
  EXPECT_EQ(mode_of(CallClass::launch), Mode::observe) << "step.mark: call: may name one";
}

TEST_F(Modes, CollectivesAreCountedAloneUnlessTheCallsWithinThemMakeSteps) {
  Watch watch;
  set_modes(State::wait, interest_calls, watch);
  EXPECT_EQ(mode_of(CallClass::collective), Mode::count);
  watch.counted = cudart_classes;
  set_modes(State::wait, interest_calls, watch);
  EXPECT_EQ(mode_of(CallClass::collective), Mode::observe);
}

}  // namespace
}  // namespace traceagent::step
