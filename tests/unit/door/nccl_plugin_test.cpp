// Plays NCCL to the exported plugins, each version. The descriptions are written from offsets, not
// from the agent's own structures.
#include "agent/door/nccl_plugin.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "agent/api/function.hpp"
#include "agent/door/nccl_plugin_mask.hpp"
#include "agent/event/plan_record.hpp"
#include "tests/unit/door/recording.hpp"

namespace {

using traceagent::api::Function;
using traceagent::door::Recording;
using traceagent::event::Record;
namespace event = traceagent::event;

struct Table {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* description);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

}  // namespace

extern "C" {
extern Table ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5,
    ncclProfiler_v6;
}

namespace {

constexpr std::uint64_t comm_id = 0x1234567890abcdef;
constexpr unsigned group = 1, collective = 2, pair = 4, proxy_op = 8, kernel_channel = 64;

Table& table_of(int version) {
  Table* const tables[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
                           &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
  return *tables[version - 1];
}

struct Description {
  alignas(8) unsigned char bytes[192] = {};
  template <class Value>
  Description& put(std::size_t offset, Value value) {
    std::memcpy(bytes + offset, &value, sizeof value);
    return *this;
  }
};

// A program's NCCL of one version.
class Nccl {
 public:
  explicit Nccl(int version, Table* table = nullptr)
      : version_(version), table_(table != nullptr ? *table : table_of(version)) {
    int result;
    if (version <= 3) {
      result = reinterpret_cast<int (*)(void**, int*)>(table_.init)(&context, &mask);
    } else if (version == 4) {
      using Init = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
      result = reinterpret_cast<Init>(table_.init)(&context, &mask, "", comm_id, 1, 8, 3, nullptr);
    } else {
      using Init = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
      result = reinterpret_cast<Init>(table_.init)(&context, comm_id, &mask, "", 1, 8, 3, nullptr);
    }
    EXPECT_EQ(result, 0);
    EXPECT_NE(context, nullptr);
  }
  ~Nccl() { EXPECT_EQ(table_.finalize(context), 0); }

  Description head(unsigned type, const void* parent) const {
    Description description;
    if (version_ <= 4) {
      description.put(0, static_cast<unsigned char>(type));
    } else {
      description.put(0, std::uint64_t{type});
    }
    return description.put(8, parent).put(16, 3);
  }

  Description all_reduce(const void* parent, std::uint64_t sequence) const {
    Description it = head(collective, parent);
    const std::size_t base = version_ <= 3 ? 40 : 24;
    if (version_ <= 3) it.put(32, comm_id);
    it.put(base, sequence).put(base + 32, std::size_t{1000}).put(base + 40, 2);
    const std::size_t channels = version_ <= 2 ? 104 : version_ == 3 ? 96 : 80;
    it.put(channels, std::uint8_t{24}).put(channels + 1, std::uint8_t{16});
    if (version_ == 1) {
      const std::uint8_t function = 4, datatype = 7, ring = 1, simple = 2;
      return it.put(48, function).put(84, datatype).put(106, ring).put(107, simple);
    }
    it.put(base + 8, "AllReduce").put(base + 48, "ncclFloat32");
    return it.put(channels + 8, "RING").put(channels + 16, "SIMPLE");
  }

  Description send(const void* parent, int peer) const {
    Description it = head(pair, parent);
    const std::size_t base = version_ <= 3 ? 40 : 24;
    if (version_ == 1) {
      it.put(40, std::uint8_t{6}).put(56, std::uint8_t{9});
    } else {
      it.put(base, "Send").put(base + 16, "ncclBfloat16");
    }
    it.put(base + 24, std::size_t{77}).put(base + 32, peer);
    if (version_ >= 4) it.put(60, std::uint8_t{5});
    return it;
  }

  // A zeroed handle, as NCCL's are: what the plugin does not set stays null.
  void* start(Description description) {
    const Description before = description;
    void* handle = nullptr;
    EXPECT_EQ(table_.start(context, &handle, description.bytes), 0);
    EXPECT_EQ(std::memcmp(description.bytes, before.bytes, sizeof before.bytes), 0);
    return handle;
  }
  void stop(void* handle) { EXPECT_EQ(table_.stop(handle), 0); }
  void record(void* handle, int state, std::uint64_t value) {
    EXPECT_EQ(table_.record(handle, state, &value), 0);
  }

  void* context = nullptr;
  // One for the process, as NCCL's: it outlives every communicator.
  static inline int mask = 0;

 private:
  const int version_;
  const Table table_;
};

class NcclPlugin : public testing::TestWithParam<int> {
 protected:
  NcclPlugin() { traceagent::door::ask_nccl_for({.plans = true}); }
  ~NcclPlugin() override { traceagent::door::ask_nccl_for({}); }

  std::string text(std::uint32_t offset) const {
    return std::string(recording.ring().name(offset));
  }

  Recording recording;
};

TEST_P(NcclPlugin, RecordsHowACollectiveIsCarriedOut) {
  Nccl nccl(GetParam());
  void* parent = nccl.start(nccl.head(group, nullptr));
  ASSERT_NE(parent, nullptr);  // NCCL 2.23 to 2.27 start nothing else without it
  void* handle = nccl.start(nccl.all_reduce(parent, 41));
  ASSERT_EQ(recording.records().size(), 1U);
  const Record& record = *recording.records().front();
  EXPECT_EQ(record.end_ticks.load(), 0U);
  nccl.stop(handle);
  EXPECT_GE(record.end_ticks.load(), record.begin_ticks.load());
  ASSERT_TRUE(event::is_plan_of_collective(record));
  const event::CollectivePlan plan = event::collective_plan_of(record);
  EXPECT_EQ(plan.function, static_cast<std::uint16_t>(Function::ncclAllReduce));
  EXPECT_EQ(plan.sequence, 41U);
  EXPECT_EQ(plan.count, 1000U);
  EXPECT_EQ(plan.datatype, ncclFloat32);
  EXPECT_EQ(plan.channels, 24);
  EXPECT_EQ(plan.warps, 16);
  EXPECT_EQ(plan.peer, 2);
  EXPECT_EQ(text(plan.algorithm), "RING");
  EXPECT_EQ(text(plan.protocol), "SIMPLE");
  ASSERT_NE(plan.communicator, 0U);
  const auto& comm = recording.ring().header().communicators[plan.communicator - 1];
  EXPECT_EQ(comm.hash.load(), comm_id);
  EXPECT_EQ(comm.rank, 3);
  EXPECT_EQ(comm.size, GetParam() >= 4 ? 8 : 0);
  EXPECT_EQ(comm.device, event::told_by_nccl);
}

TEST_P(NcclPlugin, RecordsSends) {
  Nccl nccl(GetParam());
  nccl.stop(nccl.start(nccl.send(nullptr, 6)));
  ASSERT_EQ(recording.records().size(), 1U);
  const event::CollectivePlan plan = event::collective_plan_of(*recording.records().front());
  EXPECT_EQ(plan.function, static_cast<std::uint16_t>(Function::ncclSend));
  EXPECT_EQ(plan.sequence, event::no_sequence);
  EXPECT_EQ(plan.count, 77U);
  EXPECT_EQ(plan.datatype, ncclBfloat16);
  EXPECT_EQ(plan.peer, 6);
  EXPECT_EQ(plan.channels, GetParam() >= 4 ? 5 : 0);
  EXPECT_EQ(plan.algorithm, 0U);
}

TEST_P(NcclPlugin, LetsTheScheduleSwitchTheMask) {
  using namespace traceagent::step;
  Nccl nccl(GetParam());
  EXPECT_EQ(nccl.mask & 0xfff, collective | pair);
  set_modes(State::wait, 0, {});
  EXPECT_EQ(nccl.mask, 0);
  set_modes(State::warmup, 0, {});
  EXPECT_EQ(nccl.mask & 0xfff, collective | pair);
  traceagent::door::ask_nccl_for({.plans = true, .kernel_channels = true, .network = true});
  set_modes(State::active, 0, {});
  EXPECT_EQ(nccl.mask & 0xfff, collective | pair | 8U | 16U | 64U | 128U);
  set_modes(State::off, 0, {});
  EXPECT_EQ(nccl.mask, 0);
}

TEST_P(NcclPlugin, RecordsNothingWhenTheScheduleDoesNot) {
  Nccl nccl(GetParam());
  traceagent::step::set_modes(traceagent::step::State::wait, 0, {});
  void* handle = nccl.start(nccl.all_reduce(nullptr, 0));
  EXPECT_EQ(handle, nullptr);
  nccl.stop(handle);  // NCCL 2.23 does
  EXPECT_TRUE(recording.records().empty());
}

TEST_P(NcclPlugin, CountsWhatFindsNoRoomAsPlans) {
  Nccl nccl(GetParam());
  std::uint64_t sent = 0;
  const auto lost = [&] { return recording.dropped(traceagent::ring::DropCause::plan_ring_full); };
  for (; lost() < 3; ++sent) {
    ASSERT_LT(sent, 1'000'000U);
    nccl.stop(nccl.start(nccl.all_reduce(nullptr, sent)));
  }
  EXPECT_EQ(recording.dropped(traceagent::ring::DropCause::ring_full), 0U);
  EXPECT_EQ(recording.records().size(), sent - 3);
}

TEST_P(NcclPlugin, TakesAnyHandle) {
  Nccl nccl(GetParam());
  void* handle = nccl.start(nccl.all_reduce(nullptr, 0));
  nccl.stop(handle);
  const std::uint64_t end = recording.records().front()->end_ticks.load();
  nccl.stop(handle);
  nccl.record(handle, 22, 5);
  EXPECT_EQ(recording.records().front()->end_ticks.load(), end);
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{0xa7} << 56, ~std::uint64_t{0},
                                   std::uint64_t{0xa7bf} << 48 | 0xffffffffffff}) {
    nccl.stop(reinterpret_cast<void*>(bits));
    nccl.record(reinterpret_cast<void*>(bits), 22, 5);
    nccl.stop(nccl.start(nccl.all_reduce(reinterpret_cast<void*>(bits), 1)));
  }
}

TEST_P(NcclPlugin, NamesTheCallThatItIsMadeIn) {
  Nccl nccl(GetParam());
  Record* call = traceagent::ring::claim(traceagent::ring::writer);
  call->layout = event::Layout::collective;
  traceagent::ring::publish(*call, 1);
  traceagent::door::open_nccl_call = call;
  traceagent::ring::writer.nccl_frame = 1;
  void* parent = GetParam() >= 5 ? nccl.start(nccl.head(512, nullptr)) : nullptr;
  void* handle = nullptr;
  const auto launch = [&] { handle = nccl.start(nccl.all_reduce(parent, 0)); };
  if (GetParam() >= 5) {
    std::thread(launch).join();  // the parent says which call it was, on whatever thread
  } else {
    launch();
  }
  traceagent::door::open_nccl_call = nullptr;
  traceagent::ring::writer.nccl_frame = 0;
  ASSERT_EQ(recording.records().size(), 2U);
  for (const Record* record : recording.records()) {
    if (record == call) continue;
    EXPECT_EQ(event::collective_plan_of(*record).call,
              traceagent::ring::correlation_of(recording.ring(), *call));
  }
  nccl.stop(handle);
}

TEST_P(NcclPlugin, KeepsAwayFromTheHandlesOfOtherProcesses) {
  traceagent::door::ask_nccl_for({.plans = true, .network = true});
  Nccl nccl(GetParam());
  void* plan = nccl.start(nccl.all_reduce(nullptr, 9));
  const auto operation = [&](int pid, const void* parent) {
    Description it = nccl.head(proxy_op, parent);
    it.put(24, pid).put(28, std::uint8_t{3}).put(32, 5).put(40, 4096).put(44, 1);
    nccl.stop(nccl.start(it));
    return event::plan_part_of(*recording.records().back());
  };
  const event::PlanPart own = operation(getpid(), plan);
  EXPECT_EQ(own.function, static_cast<std::uint16_t>(Function::ncclAllReduce));
  EXPECT_EQ(own.sequence, 9U);
  EXPECT_EQ(own.channel, 3U);
  EXPECT_EQ(own.peer, 5);
  EXPECT_EQ(own.bytes, 4096U);
  EXPECT_TRUE(own.is_send);
  const event::PlanPart others = operation(getpid() + 1, plan);
  EXPECT_EQ(others.function, 0U);
  EXPECT_EQ(others.sequence, event::no_sequence);
  nccl.stop(plan);
}

// Before version 4 the interface has no times of channels.
class NcclPluginChannels : public NcclPlugin {};

TEST_P(NcclPluginChannels, AreRecordedWithTheGpusTimes) {
  traceagent::door::ask_nccl_for({.plans = true, .kernel_channels = true});
  Nccl nccl(GetParam());
  void* plan = nccl.start(nccl.all_reduce(nullptr, 2));
  void* channel = nccl.start(
      nccl.head(kernel_channel, plan).put(24, std::uint8_t{11}).put(32, std::uint64_t{1000}));
  nccl.record(channel, 22, 3500);
  nccl.stop(channel);
  const event::PlanPart part = event::plan_part_of(*recording.records().back());
  EXPECT_EQ(event::plan_kind_of(*recording.records().back()), event::PlanKind::kernel_channel);
  EXPECT_EQ(part.channel, 11U);
  EXPECT_EQ(part.gpu_begin_ns, 1000U);
  EXPECT_EQ(part.gpu_end_ns, 3500U);
  EXPECT_EQ(part.sequence, 2U);
  nccl.stop(plan);
}

INSTANTIATE_TEST_SUITE_P(Versions, NcclPlugin, testing::Range(1, 7));
INSTANTIATE_TEST_SUITE_P(Versions, NcclPluginChannels, testing::Range(4, 7));

TEST(NcclPluginNames, AreThoseOfTheInterface) {
  using traceagent::door::is_nccl_profiler_name;
  EXPECT_TRUE(is_nccl_profiler_name("ncclProfiler_v1"));
  EXPECT_TRUE(is_nccl_profiler_name("ncclProfiler_v6"));
  for (const char* other : {"ncclProfiler_v0", "ncclProfiler_v7", "ncclProfiler_v", "n", "",
                            "ncclProfiler_v10", "ncclTuner_v4"}) {
    EXPECT_FALSE(is_nccl_profiler_name(other)) << other;
  }
  EXPECT_FALSE(is_nccl_profiler_name(nullptr));
}

// The user's own plugin: remembers what it was shown.
std::vector<std::string> shown;
int next_handle = 0;
int users_init(void** context, std::uint64_t, int* mask, const char*, int, int, int, void*) {
  *context = &next_handle;
  *mask = collective;
  return 0;
}
int users_start(void* context, void** handle, void* description) {
  EXPECT_EQ(context, &next_handle);
  std::uint64_t type, parent, second;
  std::memcpy(&type, description, 8);
  std::memcpy(&parent, static_cast<char*>(description) + 8, 8);
  std::memcpy(&second, static_cast<char*>(description) + 104, 8);
  shown.push_back("start " + std::to_string(type) + " of " + std::to_string(parent) + " in " +
                  std::to_string(type == collective ? second : 0));
  *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(++next_handle));
  return 0;
}
int users_stop(void* handle) {
  shown.push_back("stop " + std::to_string(reinterpret_cast<std::uintptr_t>(handle)));
  return 0;
}
int users_record(void*, int, void*) { return 0; }
int users_finalize(void* context) {
  EXPECT_EQ(context, &next_handle);
  shown.push_back("finalize");
  return 0;
}

TEST(NcclPluginChain, ShowsTheUsersPluginWhatItAskedFor) {
  Recording recording;
  traceagent::door::ask_nccl_for({.plans = true});
  Table users{"users",      reinterpret_cast<void*>(&users_init),
              users_start,  users_stop,
              users_record, users_finalize};
  auto* chained =
      static_cast<Table*>(traceagent::door::nccl_profiler_for("ncclProfiler_v5", &users, true));
  ASSERT_NE(chained, nullptr);
  EXPECT_STREQ(chained->name, "users");
  {
    Nccl nccl(5, chained);
    EXPECT_EQ(nccl.mask & 0xfff, collective | pair);
    void* call = nccl.start(nccl.head(512, nullptr));
    void* in_group = nccl.start(nccl.head(group, nullptr));
    void* reduce = nccl.start(nccl.all_reduce(call, 3).put(104, in_group));
    nccl.stop(reduce);
    // Not asked for by the user, and in a call whose handle is ours alone.
    void* send_call = nccl.start(nccl.head(1024, nullptr));
    nccl.stop(nccl.start(nccl.send(send_call, 1).put(64, in_group)));
    nccl.stop(in_group);
    traceagent::step::set_all_modes(traceagent::step::Mode::pass);
    EXPECT_EQ(nccl.mask, static_cast<int>(collective));  // theirs stays
    nccl.stop(nccl.start(nccl.all_reduce(send_call, 4).put(104, send_call)));
  }
  const std::vector<std::string> wanted = {"start 512 of 0 in 0",
                                           "start 1 of 0 in 0",
                                           "start 2 of 1 in 2",
                                           "stop 3",
                                           "stop 2",
                                           "start 2 of 0 in 0",
                                           "stop 4",
                                           "finalize"};
  EXPECT_EQ(shown, wanted);
  ASSERT_EQ(recording.records().size(), 2U);
  for (const Record* record : recording.records()) EXPECT_NE(record->end_ticks.load(), 0U);
  traceagent::door::ask_nccl_for({});
  *traceagent::door::nccl_plugin::mask_of_users_plugin() = 0;
}

}  // namespace
