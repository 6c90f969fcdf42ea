#include "agent/step/detector.hpp"

#include <gtest/gtest.h>

#include "tests/unit/step/jobs.hpp"

namespace traceagent::step::test {
namespace {

/// From the lock on, every true step is announced with its number, on its first call; the number
/// of steps is exact.
void expect_exact(const Job& job, const Recorder& seen, std::uint64_t latest_lock) {
  ASSERT_EQ(seen.problem, "");
  ASSERT_EQ(seen.locks.size(), 1U);
  const std::uint64_t first = seen.locks[0].step;
  EXPECT_LE(first, latest_lock);
  ASSERT_LT(first, job.edges.size());
  for (std::uint64_t step = first; step < job.edges.size(); ++step) {
    const auto found = seen.steps.find(step);
    ASSERT_NE(found, seen.steps.end()) << "step " << step << " of " << job.edges.size();
    ASSERT_EQ(found->second.begin, job.edges[step]) << "step " << step;
  }
  EXPECT_EQ(seen.steps.rbegin()->first, job.edges.size() - 1);
  EXPECT_EQ(seen.steps.size(), job.edges.size() - first);
}

void data_parallel_backward(Job& job, int buckets, std::uint64_t count = 1000) {
  for (int bucket = 0; bucket < buckets; ++bucket) {
    job.launches(20, 5, 2);
    job.collective(
        1, bucket == buckets - 1 ? count - 1 : count + static_cast<std::uint64_t>(bucket % 2));
  }
}

void data_parallel_step(Job& job, int buckets = 4, std::uint64_t count = 1000) {
  job.begin_step();
  job.copy();
  job.launches(10, 20);
  data_parallel_backward(job, buckets, count);
  job.launches(30, 4);
}

Job data_parallel(int steps) {
  Job job;
  for (int i = 0; i < 5; ++i) job.collective(2, 100 + static_cast<std::uint64_t>(i));
  for (int step = 0; step < steps; ++step) data_parallel_step(job);
  return job;
}

TEST(Detector, CountsDataParallelStepsWithBuckets) {
  const Job job = data_parallel(40);
  const Recorder seen = run(job);
  expect_exact(job, seen, 8);
  EXPECT_EQ(seen.locks[0].kind, LockReport::Kind::collectives);
  EXPECT_EQ(seen.locks[0].period, 4U);
  EXPECT_EQ(seen.retracted, 0U);
  EXPECT_EQ(seen.ended, job.edges.size() - 1 - seen.locks[0].step);
}

TEST(Detector, EndsAStepWhereTheNextBegins) {
  const Recorder seen = run(data_parallel(40));
  for (auto step = seen.steps.begin(); std::next(step) != seen.steps.end(); ++step) {
    EXPECT_EQ(step->second.end, std::next(step)->second.begin);
  }
}

class Accumulation : public testing::TestWithParam<int> {};

TEST_P(Accumulation, ReducedInTheLastMicroBatchIsOneStep) {
  Job job;
  job.collective(9, 9);
  for (int step = 0; step < 40; ++step) {
    job.begin_step();
    for (int micro = 0; micro < GetParam(); ++micro) {
      job.copy();
      job.launches(10, 20);
      if (micro == GetParam() - 1) data_parallel_backward(job, 4);
    }
    job.launches(30, 4);
  }
  expect_exact(job, run(job), 8);
}

TEST_P(Accumulation, ReducedInEveryMicroBatchIsOneStep) {
  Job job;
  job.collective(9, 9);
  for (int step = 0; step < 40; ++step) {
    job.begin_step();
    for (int micro = 0; micro < GetParam(); ++micro) {
      job.copy();
      job.launches(10, 20);
      data_parallel_backward(job, 4);
    }
    job.launches(30, 4);
    job.synchronise();
  }
  const Recorder seen = run(job);
  expect_exact(job, seen, 4);
  EXPECT_EQ(seen.locks[0].blocks_per_step, static_cast<std::uint32_t>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(MicroBatches, Accumulation, testing::Values(2, 3, 4, 8));

TEST(Detector, DoesWithoutBoundariesInEveryStep) {
  // A loop that never copies and reads its loss back every tenth step only.
  for (const int read_every : {10, 50, 1000}) {
    SCOPED_TRACE(read_every);
    Job job;
    for (int step = 1; step <= 200; ++step) {
      job.begin_step();
      job.launches(10, 8);
      for (std::uint64_t bucket = 0; bucket < 5; ++bucket) {
        job.launches(20, 2);
        job.collective(1, bucket % 3);
      }
      job.launches(30, 1);
      if (step % read_every == 0) job.synchronise();
    }
    expect_exact(job, run(job), 33);
  }
}

TEST(Detector, DoesNotCountEvaluationsThatAloneReadBack) {
  Job job;
  for (int step = 1; step <= 200; ++step) {
    job.begin_step();
    job.launches(10, 6);
    for (std::uint64_t bucket = 0; bucket < 3; ++bucket) {
      job.launches(20, 1);
      job.collective(1, bucket / 2);
    }
    job.launches(30, 1);
    if (step % 50 != 0) continue;
    for (int batch = 0; batch < 10; ++batch) job.launches(10, 6), job.synchronise();
    job.collective(1, 2);
    job.synchronise();
  }
  expect_exact(job, run(job), 33);
}

TEST(Detector, CountsPipelineStepsInWhichTheHostNeverWaits) {
  Job job;
  const auto layers = [&](int count, std::uint64_t kernel) {
    for (int layer = 0; layer < count; ++layer) job.launches(kernel, 1), job.collective(1, 32768);
  };
  for (int step = 0; step < 200; ++step) {
    job.begin_step();
    layers(6, 10);
    job.point_to_point(50);
    for (int micro = 1; micro < 4; ++micro) {
      layers(6, 10);
      job.point_to_point(50);
      job.point_to_point(51);
      layers(3, 20);
    }
    job.point_to_point(51);
    layers(3, 20);
    job.collective(3, 1);
    job.launches(30, 1);
  }
  expect_exact(job, run(job), 8);
}

TEST(Detector, FindsLongAccumulationThatReducesTheNormOnceAStep) {
  // Fully sharded training gathers and scatters in every micro batch. More than 8 equal ones look
  // like steps at first; the longer period must win, with the true numbers.
  Job job;
  for (int step = 0; step < 40; ++step) {
    job.begin_step();
    for (int micro = 0; micro < 16; ++micro) {
      job.copy();
      for (int layer = 0; layer < 6; ++layer) {
        job.collective(1, static_cast<std::uint64_t>(layer));
        job.launches(10, 10);
      }
    }
    job.collective(3, 1);
    job.launches(30, 40);
    job.synchronise();
  }
  const Recorder seen = run(job);
  ASSERT_EQ(seen.problem, "");
  ASSERT_EQ(seen.locks.size(), 2U);
  EXPECT_LE(seen.locks[1].step, 5U);
  for (std::uint64_t step = seen.locks[1].step; step < job.edges.size(); ++step) {
    ASSERT_EQ(seen.steps.at(step).begin, job.edges[step]) << step;
  }
}

TEST(Detector, FindsLongAccumulationWhoseLastMicroBatchReduces) {
  Job job;
  for (int step = 0; step < 40; ++step) {
    job.begin_step();
    for (int micro = 0; micro < 16; ++micro) {
      job.copy();
      for (int layer = 0; layer < 6; ++layer) {
        job.collective(1, static_cast<std::uint64_t>(layer));
        job.launches(10, 10);
        if (micro == 15) job.collective(2, static_cast<std::uint64_t>(layer));
      }
    }
    job.launches(30, 40);
  }
  const Recorder seen = run(job);
  ASSERT_EQ(seen.problem, "");
  ASSERT_EQ(seen.locks.size(), 2U);
  EXPECT_LE(seen.locks[1].step, 5U);
  for (std::uint64_t step = seen.locks[1].step; step < job.edges.size(); ++step) {
    ASSERT_EQ(seen.steps.at(step).begin, job.edges[step]) << step;
  }
}

TEST(Detector, KeepsTheStepWhenEvaluationComesEveryTwelfth) {
  Job job;
  for (int step = 0; step < 300; ++step) {
    data_parallel_step(job);
    if (step % 12 != 11) continue;
    for (int batch = 0; batch < 5; ++batch) {
      job.copy();
      job.launches(10, 20);
    }
    job.collective(5, 1);
    job.synchronise();
  }
  expect_exact(job, run(job), 8);
}

/// One stage of a pipeline with tensor parallel layers; 1F1B with `micros` micro batches.
Job pipeline(int stage, int layers, int micros, int steps, bool is_all_forward_first) {
  Job job;
  const auto unit = [&](bool is_forward) {
    if (is_forward && stage == 0) job.copy();
    if (is_forward ? stage > 0 : stage < 3) job.point_to_point(is_forward ? 50 : 51);
    for (int layer = 0; layer < layers; ++layer) {
      for (int half = 0; half < 2; ++half) {
        job.launches(is_forward ? 10 : 20, is_forward ? 6 : 12);
        job.collective(1, 4096);
      }
    }
    if (is_forward ? stage < 3 : stage > 0) job.point_to_point(is_forward ? 52 : 53);
    if (is_forward && stage == 3) job.copy();
  };
  job.collective(7, 1);
  job.collective(7, 2);
  for (int step = 0; step < steps; ++step) {
    job.begin_step();
    const int warm_up = is_all_forward_first ? micros : std::min(micros, 3 - stage);
    for (int i = 0; i < warm_up; ++i) unit(true);
    for (int i = warm_up; i < micros; ++i) unit(true), unit(false);
    for (int i = 0; i < warm_up; ++i) unit(false);
    for (int bucket = 0; bucket < 3; ++bucket) {
      job.collective(2, 100 + static_cast<std::uint64_t>(bucket));
    }
    job.collective(3, 1);
    job.synchronise();
    job.launches(30, 12);
  }
  return job;
}

TEST(Detector, CountsPipelineStepsOnEveryStage) {
  for (const bool is_all_forward_first : {false, true}) {
    for (const int layers : {6, 12, 24}) {
      for (const int micros : {2, 4, 8, 16}) {
        for (int stage = 0; stage < 4; ++stage) {
          SCOPED_TRACE(testing::Message()
                       << "layers " << layers << " micros " << micros << " stage " << stage
                       << " all forward first " << is_all_forward_first);
          const Job job = pipeline(stage, layers, micros, 20, is_all_forward_first);
          expect_exact(job, run(job), 9);
        }
      }
    }
  }
}

TEST(Detector, IsNotFooledByStacksOfEqualLayers) {
  for (const int layers : {24, 48, 96}) {
    Job job;
    for (int step = 0; step < 30; ++step) {
      job.begin_step();
      job.copy();
      for (int layer = 0; layer < 4 * layers; ++layer) {
        job.launches(10, 4);
        job.collective(1, 4096);
      }
      job.collective(2, 1);
      job.launches(30, 12);
      job.synchronise();
    }
    SCOPED_TRACE(layers);
    expect_exact(job, run(job), 8);
  }
}

TEST(Detector, DoesNotCountEvaluationThatSharesTheForwardPass) {
  Job job;
  const auto forward = [&] {
    job.copy();
    for (int layer = 0; layer < 24; ++layer) {
      job.launches(10, 4);
      job.collective(1, 4096);
    }
  };
  for (int step = 0; step < 400; ++step) {
    job.begin_step();
    forward();
    for (int layer = 0; layer < 24; ++layer) {
      job.launches(20, 8);
      job.collective(1, 8192);
    }
    job.launches(30, 12);
    if (step % 50 != 49) continue;
    for (int batch = 0; batch < 20; ++batch) forward();
    job.collective(4, 1);
    job.synchronise();
  }
  const Recorder seen = run(job);
  expect_exact(job, seen, 8);
  EXPECT_LE(seen.retracted, 16U);
}

TEST(Detector, DoesNotCountCheckpoints) {
  Job job;
  for (int step = 0; step < 450; ++step) {
    data_parallel_step(job);
    if (step % 100 != 99) continue;
    for (int shard = 0; shard < 30; ++shard) {
      job.collective(6, static_cast<std::uint64_t>(shard));
      job.synchronise();
    }
  }
  expect_exact(job, run(job), 8);
}

TEST(Detector, KeepsTheStepWhenAMetricIsReducedEveryTenth) {
  Job job;
  for (int step = 0; step < 300; ++step) {
    data_parallel_step(job);
    if (step % 10 != 9) continue;
    job.launches(40, 2);
    job.collective(5, 1);
    job.synchronise();
  }
  expect_exact(job, run(job), 8);
}

TEST(Detector, LooksAtShapesWhereCountsVary) {
  std::mt19937_64 random(7);
  Job job;
  for (int step = 0; step < 100; ++step) {
    job.begin_step();
    job.copy();
    for (int layer = 0; layer < 8; ++layer) {
      job.launches(10, 9);
      job.collective(1, random() % 100000);
      job.collective(1, random() % 100000);
    }
    for (int bucket = 0; bucket < 3; ++bucket) {
      job.collective(2, 100 + static_cast<std::uint64_t>(bucket));
    }
    job.launches(30, 12);
  }
  const Recorder seen = run(job);
  expect_exact(job, seen, 10);
  EXPECT_EQ(seen.locks[0].kind, LockReport::Kind::collective_shapes);
}

Job single_gpu(int steps, int kernels, int micros) {
  std::mt19937_64 random(11);
  Job job;
  job.decided_by_launches = true;
  for (int i = 0; i < 300; ++i) job.launches(random(), 1);
  for (int step = 0; step < steps; ++step) {
    job.begin_step();
    for (int micro = 0; micro < micros; ++micro) {
      job.copy();
      for (int kernel = 0; kernel < kernels; ++kernel) {
        job.launches(100 + static_cast<std::uint64_t>(kernel % 12), 1);
        if (random() % 40 == 0) job.launches(random() % 5, 1, 9);  // the loader's own
      }
      job.launches(70, 3);
    }
    job.launches(80, 25);
    job.synchronise();
  }
  return job;
}

TEST(Detector, CountsLaunchPeriodsWithoutCollectives) {
  const Job job = single_gpu(30, 2000, 1);
  const Recorder seen = run(job);
  expect_exact(job, seen, 9);
  EXPECT_EQ(seen.locks[0].kind, LockReport::Kind::launches);
  EXPECT_EQ(seen.locks[0].period, 2028U);
}

TEST(Detector, CountsAccumulationOnOneGpu) {
  for (const int micros : {2, 4, 8}) {
    SCOPED_TRACE(micros);
    const Job job = single_gpu(30, 120, micros);
    expect_exact(job, run(job), 9);
  }
}

TEST(Detector, ChoosesTheThreadThatLaunchesMost) {
  Job job;
  job.decided_by_launches = true;
  job.leader = 2;
  job.launches(1, 5, 9);
  for (int step = 0; step < 60; ++step) {
    job.begin_step();
    job.copy();
    job.launches(10, 12, 1);
    for (int kernel = 0; kernel < 30; ++kernel)
      job.launches(static_cast<std::uint64_t>(kernel), 1, 2);
    if (step % 3 == 0) job.launches(60, 2, 9);
  }
  expect_exact(job, run(job), 10);
}

void train(Job& job, std::uint32_t thread, int steps, std::uint64_t first_kernel = 0) {
  for (int step = 0; step < steps; ++step) {
    job.copy(thread);
    for (std::uint64_t kernel = 0; kernel < 20; ++kernel)
      job.launches(first_kernel + kernel, 1, thread);
  }
}

// A trainer that is started again, an executor, a notebook.
TEST(Detector, GoesOnWhereTrainingGoesOnInAnotherThread) {
  Job job;
  for (std::uint32_t thread = 1; thread < 5; ++thread) train(job, thread, 100);
  const Recorder seen = run(job);
  EXPECT_EQ(seen.problem, "");
  EXPECT_EQ(seen.locks.size(), 1u);
  EXPECT_GE(seen.steps.rbegin()->first, 380u);
  EXPECT_GE(seen.steps.rbegin()->second.begin, job.tokens.size() - 21);
  for (const auto& [number, step] : seen.steps) {
    EXPECT_TRUE(step.end == 0 || step.end - step.begin == 21) << number;
  }
}

// PyTorch's backward thread launches most, and an evaluation has only the forward pass.
TEST(Detector, WaitsForItsThreadThroughALongEvaluation) {
  Job job;
  job.decided_by_launches = true;
  job.leader = 2;
  const auto forward = [&] {
    for (std::uint64_t kernel = 0; kernel < 10; ++kernel) job.launches(kernel, 1, 1);
  };
  for (int step = 0; step < 200; ++step) {
    job.begin_step();
    job.copy();
    forward();
    for (std::uint64_t kernel = 100; kernel < 130; ++kernel) job.launches(kernel, 1, 2);
    for (int batch = 0; step == 100 && batch < 1000; ++batch) forward();
  }
  expect_exact(job, run(job), 10);
}

TEST(Detector, LearnsWhatAnotherThreadLaunchesOnceItsOwnHasEnded) {
  Job job;
  train(job, 1, 100);
  const std::size_t at_end = job.tokens.size();
  train(job, 2, 300, 500);
  for (const bool is_told : {false, true}) {
    Recorder seen;
    Detector detector(seen);
    for (std::size_t i = 0; i < job.tokens.size(); ++i) {
      if (is_told && i == at_end) detector.leader_has_ended();
      detector.feed(job.tokens[i]);
    }
    EXPECT_EQ(seen.problem, "");
    EXPECT_EQ(seen.locks.size(), is_told ? 2u : 1u);
    EXPECT_EQ(seen.steps.rbegin()->second.begin > at_end, is_told);
  }
}

// XLA tries out its kernels on threads of their own before it trains, by one graph a step.
TEST(Detector, FollowsTheThreadThatTrainsAfterOthersHaveTriedOutKernels) {
  for (const int tried : {100, 3000}) {
    SCOPED_TRACE(tried);
    Job job;
    job.decided_by_launches = true;
    std::mt19937_64 random(7);
    for (int i = 0; i < 5 * tried; ++i) {
      job.launches(100 + random() % 50, 1, 2 + static_cast<std::uint32_t>(i % 5));
    }
    for (int step = 0; step < 20000; ++step) {
      job.begin_step();
      job.launches(1, 1);
      job.synchronise();
    }
    const Recorder seen = run(job);
    ASSERT_EQ(seen.locks.size(), 1U);
    EXPECT_EQ(seen.locks[0].period, 1U);
    // It leads where it has launched a quarter more than each other, at the next power of two.
    EXPECT_LE(seen.steps.begin()->second.begin, 2 * 32768U);
    EXPECT_EQ(seen.steps.rbegin()->second.begin, job.edges.back());
  }
}

TEST(Detector, PrefersCollectivesThatComeLater) {
  Job job;
  job.launches(5, 200);
  for (int step = 0; step < 40; ++step) data_parallel_step(job);
  expect_exact(job, run(job), 8);
}

TEST(Detector, NeverLocksOnWhatNeverRepeats) {
  std::mt19937_64 random(3);
  Job job;
  for (int i = 0; i < 200000; ++i) {
    job.collective(random() % 50, random() % 3);
    if (i % 7 == 0) job.copy();
  }
  EXPECT_TRUE(run(job).locks.empty());
}

TEST(Detector, IsExactForRandomPatterns) {
  std::mt19937_64 random(2026);
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    const std::uint64_t kinds = 1 + random() % 6;
    const std::size_t length = 2 + random() % (trial % 10 == 0 ? 3000 : 60);
    std::vector<std::uint64_t> pattern(length);
    for (auto& symbol : pattern) symbol = 10 + random() % kinds;
    pattern.front() = 1;  // so that the pattern has no shorter period,
    pattern.back() = 2;   // and the preamble cannot end as a step does
    Job job;
    for (std::uint64_t i = random() % 500; i > 0; --i)
      job.collective(1000 + random() % 4, random());
    for (int step = 0; step < 24; ++step) {
      job.begin_step();
      job.copy();
      for (const auto symbol : pattern) {
        job.launches(symbol, 2);
        job.collective(symbol);
      }
    }
    expect_exact(job, run(job), 8);
  }
}

TEST(Detector, IsExactBetweenRandomInterruptions) {
  std::mt19937_64 random(77);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<std::uint64_t> pattern(8 + random() % 80);
    for (auto& symbol : pattern) symbol = 10 + random() % 4;
    pattern.front() = 1;
    Job job;
    for (int step = 0; step < 120; ++step) {
      job.begin_step();
      job.copy();
      for (const auto symbol : pattern) {
        job.launches(symbol, 2);
        job.collective(symbol);
      }
      if (step < 10 || random() % 8 != 0) continue;
      // An evaluation: batches that share a random part of the step, then a few calls of its own.
      const std::size_t shared = random() % pattern.size();
      for (std::uint64_t batch = random() % 6; batch > 0; --batch) {
        job.copy();
        for (std::size_t i = 0; i < shared; ++i) {
          job.launches(pattern[i], 1);
          job.collective(pattern[i]);
        }
      }
      for (std::uint64_t i = random() % 3; i > 0; --i) job.collective(500 + random() % 2);
    }
    expect_exact(job, run(job), 8);
  }
}

TEST(Detector, ForgetsParametersThatWereSentRoundOneByOne) {
  Job job;
  for (int parameter = 0; parameter < 60; ++parameter) {
    job.launches(3, 1);
    job.copy();
    job.collective(8, 4096);
  }
  for (int step = 0; step < 100; ++step) data_parallel_step(job);
  const Recorder seen = run(job);
  ASSERT_EQ(seen.problem, "");
  ASSERT_EQ(seen.locks.size(), 2U);
  EXPECT_LE(seen.locks[1].step, 30U);
  for (std::uint64_t step = seen.locks[1].step; step < job.edges.size(); ++step) {
    ASSERT_EQ(seen.steps.at(step).begin, job.edges[step]) << step;
  }
}

TEST(Detector, CountsTrainingAloneAfterALongEvaluation) {
  // The evaluation is long enough to be learned; training must go on with the old pattern.
  Job job;
  const auto forward = [&] {
    job.copy();
    for (int layer = 0; layer < 12; ++layer) {
      job.launches(10, 4);
      job.collective(1, 4096);
    }
  };
  const auto train = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      job.begin_step();
      forward();
      for (int layer = 0; layer < 12; ++layer) job.launches(20, 8), job.collective(1, 8192);
      job.launches(30, 12);
    }
  };
  train(300);
  for (int batch = 0; batch < 2000; ++batch) forward(), job.collective(4, 16);
  const std::size_t before = job.tokens.size();
  train(100);
  const Recorder seen = run(job);
  ASSERT_EQ(seen.problem, "");
  std::vector<std::uint64_t> after;
  for (const auto& [number, step] : seen.steps) {
    if (step.begin >= before) after.push_back(step.begin);
  }
  EXPECT_EQ(after, std::vector<std::uint64_t>(job.edges.begin() + 300, job.edges.end()));
}

TEST(Detector, RanksWithTheSameCollectivesDecideAtTheSameCall) {
  // Launches of loader threads fall elsewhere on each rank; here only the ticks differ.
  const Job job = data_parallel(40);
  Recorder first;
  Recorder second;
  Detector rank_0(first);
  Detector rank_1(second);
  for (Token token : job.tokens) {
    rank_0.feed(token);
    token.ticks += 1000000;
    rank_1.feed(token);
    ASSERT_EQ(first.locks.size(), second.locks.size());
    ASSERT_EQ(first.steps.size(), second.steps.size());
  }
  ASSERT_EQ(first.locks.size(), 1U);
}

TEST(Detector, LocksAllTheSameWhenLaunchesAreNoisy) {
  std::mt19937_64 random(5);
  Job job;
  for (int step = 0; step < 100; ++step) {
    data_parallel_step(job);
    job.launches(99, static_cast<int>(random() % 50), 9);
  }
  expect_exact(job, run(job), 30);
}

TEST(Detector, LearnsAnewAndCountsOnWhenTheJobChanges) {
  Job job;
  for (int step = 0; step < 100; ++step) data_parallel_step(job, 4);
  for (int step = 0; step < 300; ++step) data_parallel_step(job, 6, 5000);
  const Recorder seen = run(job);
  ASSERT_EQ(seen.problem, "");
  ASSERT_EQ(seen.locks.size(), 2U);
  for (std::uint64_t step = seen.locks[1].step; step < 400; ++step) {
    ASSERT_EQ(seen.steps.at(step).begin, job.edges[step]) << step;
  }
}

}  // namespace
}  // namespace traceagent::step::test
