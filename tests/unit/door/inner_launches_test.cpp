#include "agent/door/inner_launches.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"
#include "tests/unit/door/recording.hpp"
#include "tests/unit/door/runtime_that_calls.hpp"
#include "tests/unit/step/told.hpp"

namespace traceagent::door {
namespace {

// In a libcudart's code.
const void* at(std::uintptr_t offset) { return places_in_cudart() + offset; }

TEST(InnerLaunches, AreKnownByWhereTheyReturnTo) {
  InnerLaunches known;
  EXPECT_FALSE(known.has(at(0x30)));
  known.add(at(0x30));
  known.add(at(0x30));
  EXPECT_TRUE(known.has(at(0x30)));
  EXPECT_FALSE(known.has(at(0x38)));
  EXPECT_TRUE(known.all_are_told_apart());
}

TEST(InnerLaunches, AreNotToldApartWhereNoPlaceIsLeft) {
  InnerLaunches known;
  constexpr std::uintptr_t same_place = 1024;
  known.add(at(1 * same_place));
  known.add(at(2 * same_place));
  EXPECT_TRUE(known.has(at(1 * same_place)) && known.has(at(2 * same_place)));
  EXPECT_TRUE(known.all_are_told_apart());
  known.add(at(3 * same_place));
  EXPECT_FALSE(known.all_are_told_apart());
}

// Ours, which a runtime jumped to; another tool's, the job's.
TEST(InnerLaunches, AreNotToldApartWhereTheyComeFromNoRuntime) {
  for (const void* code : {reinterpret_cast<const void*>(&real_function),
                           reinterpret_cast<const void*>(&std::strlen)}) {
    InnerLaunches known;
    known.add(code);
    EXPECT_FALSE(known.has(code));
    EXPECT_FALSE(known.all_are_told_apart());
  }
}

constexpr int calls_per_step = 10;
constexpr std::array<char, calls_per_step> kernels{};

CUresult real_driver_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}

using DriverCall = int (*)(const void*);

DriverCall driver_call(api::Function function) {
  return reinterpret_cast<DriverCall>(wrapper_of(Library::cuda, function));
}

// A tool behind us, that launches something of its own for each launch.
CUresult tools_launch(CUfunction kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      unsigned, CUstream, void**, void**) {
  driver_call(api::Function::cuGraphLaunch_v1)(kernel);
  return CUDA_SUCCESS;
}

CUresult real_graph_launch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

std::uint64_t launches_without_frame = 0;

// The driver's kernel is the runtime's, as a graph is: what passes in the one is waited for in the
// other.
cudaError_t real_launch(const void* kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
  launches_without_frame += ring::writer.cuda_frame == 0 ? 1 : 0;
  call_from_cudart(driver_call(api::Function::cuLaunchKernel_v1), kernel);
  return cudaSuccess;
}

class PassingLaunches : public testing::Test {
 protected:
  PassingLaunches() {
    std::construct_at(&inner_launches);
    told.may_pass = 1000;
    report_to(&steps);
    step::set_all_modes(step::Mode::observe);
    target(Library::cuda, api::Function::cuLaunchKernel_v1) =
        reinterpret_cast<void*>(&real_driver_launch);
    target(Library::cudart_13, api::Function::cudaLaunchKernel) =
        reinterpret_cast<void*>(&real_launch);
  }
  ~PassingLaunches() override {
    std::construct_at(&inner_launches);
    open_cuda_doors(true, true);
  }
  template <class Launch>
  void make_steps(int count, const Launch& launch) {
    for (int i = 0; i < count * calls_per_step; ++i) {
      if (i % calls_per_step == 0) steps.copy_to_device(event::read_ticks());
      launch(&kernels[static_cast<std::size_t>(i % calls_per_step)]);
    }
  }
  void make_steps(int count) {
    const auto launch = reinterpret_cast<decltype(&real_launch)>(
        wrapper_of(Library::cudart_13, api::Function::cudaLaunchKernel));
    make_steps(count,
               [&](const void* kernel) { launch(kernel, dim3(1), dim3(1), nullptr, 0, nullptr); });
  }
  std::ptrdiff_t retracted() const {
    return std::ranges::count(told.events, 'r', &step::test::Told::Event::what);
  }
  // What is learnt in the beginning is over.
  void make_first_steps() {
    make_steps(200);
    ASSERT_FALSE(told.events.empty()) << "no step was found";
    steps.heard_since_last();
  }

  Recording recording;
  step::test::Told told;
  step::Tracker steps{config::parse_step_mark("auto").mark, told};
};

TEST_F(PassingLaunches, LeaveNoneOfTheirsToBeTold) {
  make_first_steps();
  launches_without_frame = 0;
  make_steps(100);
  EXPECT_EQ(steps.heard_since_last().passed, 100U * calls_per_step);
#ifdef TRACEAGENT_WRAPPERS_JUMP
  EXPECT_TRUE(inner_launches.all_are_told_apart());
  EXPECT_GE(launches_without_frame, 99U * calls_per_step) << "they do not go by a jump";
#endif
}

#ifdef TRACEAGENT_WRAPPERS_JUMP
// The window opened between the two.
TEST_F(PassingLaunches, LeaveTheirsToBeRecordedAndNotTold) {
  make_first_steps();
  step::set_all_modes(step::Mode::record);
  call_from_cudart(driver_call(api::Function::cuLaunchKernel_v1), kernels.data());
  ASSERT_EQ(recording.records().size(), 1U);
  const step::Tracker::Heard heard = steps.heard_since_last();
  EXPECT_EQ(heard.busiest, 0U);
  EXPECT_EQ(heard.passed, 0U);
}
#endif

TEST_F(PassingLaunches, OfTheDriverLeaveNoneOfAToolsToBeTold) {
  target(Library::cuda, api::Function::cuLaunchKernel_v1) = reinterpret_cast<void*>(&tools_launch);
  target(Library::cuda, api::Function::cuGraphLaunch_v1) =
      reinterpret_cast<void*>(&real_graph_launch);
  const DriverCall launch = driver_call(api::Function::cuLaunchKernel_v1);
  make_steps(200, launch);
  steps.heard_since_last();
  make_steps(100, launch);
  EXPECT_EQ(steps.heard_since_last().passed, 100U * calls_per_step);
  EXPECT_EQ(retracted(), 0);
}

TEST_F(PassingLaunches, AreNotCountedForTheirsBehindAShutDoor) {
  open_cuda_doors(false, true);
  report_to(&steps);  // the doors come first
  make_first_steps();
  make_steps(100);
  EXPECT_EQ(steps.heard_since_last().passed, 100U * calls_per_step);
  EXPECT_EQ(retracted(), 0);
}

TEST_F(PassingLaunches, GoTheLongWayWhereTheirsAreNotKnown) {
  make_first_steps();
  std::construct_at(&inner_launches);
  report_to(&steps);
  inner_launches.give_up();
  make_steps(100);
  EXPECT_EQ(steps.heard_since_last().passed, 100U * calls_per_step) << "or theirs are told";
}

}  // namespace
}  // namespace traceagent::door
