#include "agent/door/nvtx.hpp"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstdlib>
#include <string>

#include "agent/api/function.hpp"
#include "tests/unit/door/nvtx_client.hpp"

namespace traceagent::door {
namespace {

TEST_F(NvtxTest, ClosedDoorTellsTheClientThatThereIsNoTool) {
  open_nvtx_door(false);
  EXPECT_EQ(InitializeInjectionNvtx2(export_table), 0);
  open_nvtx_door(true);
  EXPECT_EQ(InitializeInjectionNvtx2(nullptr), 0);
}

TEST_F(NvtxTest, NamesOfStreamsDevicesContextsAndThreads) {
  const auto call = [](const auto& functions, unsigned id, auto handle, auto name) {
    reinterpret_cast<void (*)(decltype(handle), decltype(name))>(functions[id])(handle, name);
  };
  call(client.cudart, NVTX_CBID_CUDART_NameCudaStreamA, reinterpret_cast<void*>(0x10), "a");
  call(client.cudart, NVTX_CBID_CUDART_NameCudaStreamW, reinterpret_cast<void*>(0x20), L"b\u00e4");
  call(client.cuda, NVTX_CBID_CUDA_NameCuStreamA, reinterpret_cast<void*>(0x30), "c");
  call(client.cuda, NVTX_CBID_CUDA_NameCuContextW, reinterpret_cast<void*>(0x40), L"d");
  call(client.cuda, NVTX_CBID_CUDA_NameCuDeviceA, 5, "e");
  call(client.cudart, NVTX_CBID_CUDART_NameCudaDeviceW, -1, L"f");
  call(client.core, NVTX_CBID_CORE_NameOsThreadA, std::uint32_t{7}, "g");
  call(client.core, NVTX_CBID_CORE_NameOsThreadW, std::uint32_t{8}, static_cast<wchar_t*>(nullptr));
  EXPECT_EQ(client.cuda[NVTX_CBID_CUDA_NameCuEventA], nullptr) << "no use for names of events";
  std::string named;
  for (const ring::NamedPlace& place : recording.ring().header().named_resources) {
    const auto name = place.load();
    if (!name) continue;
    named += std::to_string(static_cast<int>(name->kind)) + ":" + std::to_string(name->handle) +
             ":" + std::string(recording.ring().name(name->name)) + " ";
  }
  EXPECT_EQ(named, "1:16:a 1:32:b\u00e4 1:48:c 3:64:d 2:5:e 2:4294967295:f 4:7:g ");
}

TEST_F(NvtxTest, ResourcesOfADomainAreNamesToo) {
  const auto create = domains<nvtxResourceHandle_t(nvtxDomainHandle_t, nvtxResourceAttributes_t*)>(
      NVTX_CBID_CORE2_DomainResourceCreate);
  nvtxResourceAttributes_t attributes{};
  attributes.size = sizeof attributes;
  attributes.identifierType = 5 << 16 | 1;  // NVTX_RESOURCE_TYPE_CUDART_STREAM
  attributes.identifier.pValue = reinterpret_cast<void*>(0x50);
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "by resource";
  EXPECT_EQ(create(nullptr, &attributes), nullptr) << "as without a tool";
  attributes.identifier.pValue = reinterpret_cast<void*>(0x60);
  attributes.message.ascii = nullptr;
  create(nullptr, &attributes);
  attributes.message.ascii = "a mutex";
  attributes.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  create(nullptr, &attributes);
  attributes.size = 8;
  create(nullptr, &attributes);
  create(nullptr, nullptr);
  std::string named;
  for (const ring::NamedPlace& place : recording.ring().header().named_resources) {
    if (const auto name = place.load()) named += recording.ring().name(name->name);
  }
  EXPECT_EQ(named, "by resource");
}

TEST_F(NvtxTest, PushAndPopAreOneRange) {
  EXPECT_EQ(push("outer"), NVTX_NO_PUSH_POP_TRACKING);
  push("inner");
  pop();
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
  EXPECT_NE(recording.records().at(1)->end_ticks.load(), 0u);
  pop();
  pop();  // one too many
  ASSERT_EQ(recording.records().size(), 2u);
  EXPECT_EQ(name_of(*recording.records()[0]), "outer");
  EXPECT_EQ(name_of(*recording.records()[1]), "inner");
  EXPECT_GE(recording.records()[0]->end_ticks.load(), recording.records()[1]->end_ticks.load());
}

// As torch.autograd.profiler.emit_nvtx does it: each range has a number of its own.
TEST_F(NvtxTest, RangesThatAllHaveTextsOfTheirOwnLeaveRoomForKernels) {
  for (int i = 0; i < 3000; ++i) {
    push(("aten::convolution_backward, seq = " + std::to_string(i)).c_str());
    pop();
  }
  EXPECT_EQ(name_of(*recording.records().at(2999)), "") << "or this test tells nothing";
  EXPECT_NE(intern("a kernel that is launched late" + std::string(200, 'k')), 0u);
}

TEST_F(NvtxTest, APopDoesNotCloseARangeWhosePushWasRecordedEarlier) {
  push("recorded");
  step::set_all_modes(step::Mode::pass);
  push("not recorded");
  step::set_all_modes(step::Mode::record);
  pop();
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
  pop();
  EXPECT_NE(recording.records().at(0)->end_ticks.load(), 0u);
}

TEST_F(NvtxTest, AttributesCarryPayloadCategoryAndColour) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = 7;
  attributes.color = 0xff8800;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = -5;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "loss";
  core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(&attributes);
  const event::Record& record = *recording.records().at(0);
  EXPECT_EQ(record.layout, event::Layout::mark);
  EXPECT_EQ(name_of(record), "loss");
  EXPECT_EQ(static_cast<std::int64_t>(record.args[1]), -5);
  EXPECT_EQ(record.detail, static_cast<std::uint32_t>(NVTX_PAYLOAD_TYPE_INT64));
  EXPECT_EQ(record.args[2], 0xff8800u | std::uint64_t{7} << 32);
  EXPECT_EQ(record.begin_ticks.load(), record.end_ticks.load());
}

TEST_F(NvtxTest, DomainsAndRegisteredStringsHaveTheirNames) {
  const auto domain =
      domains<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA)("NCCL");
  ASSERT_NE(domain, nullptr);
  const auto text = domains<nvtxStringHandle_t(nvtxDomainHandle_t, const char*)>(
      NVTX_CBID_CORE2_DomainRegisterStringA)(domain, "ncclAllReduce");
  nvtxEventAttributes_t attributes{};
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = text;
  domains<int(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(NVTX_CBID_CORE2_DomainRangePushEx)(
      domain, &attributes);
  pop();  // the default domain's: not this one
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
  domains<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(domain);
  const event::Record& record = *recording.records().at(0);
  EXPECT_NE(record.end_ticks.load(), 0u);
  EXPECT_EQ(name_of(record), "ncclAllReduce");
  EXPECT_EQ(recording.ring().name(static_cast<std::uint32_t>(record.args[0])), "NCCL");
}

TEST_F(NvtxTest, HandlesThatAreNotOursAreNotRead) {
  nvtxEventAttributes_t attributes{};
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = reinterpret_cast<nvtxStringHandle_t>(0x10);
  const auto domain = reinterpret_cast<nvtxDomainHandle_t>(0x20);
  domains<void(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(NVTX_CBID_CORE2_DomainMarkEx)(
      domain, &attributes);
  EXPECT_EQ(name_of(*recording.records().at(0)), "");
  push(nullptr);
  pop();
  core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(nullptr);
  EXPECT_EQ(recording.records().size(), 3u);
}

TEST_F(NvtxTest, WideTextsBecomeUtf8) {
  core<void(const wchar_t*)>(NVTX_CBID_CORE_MarkW)(L"Öl 漢 🚀");
  EXPECT_EQ(name_of(*recording.records().at(0)), "Öl 漢 🚀");
}

TEST_F(NvtxTest, StartedRangesEndOnAnyThread) {
  const auto id = core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA)("request");
  ASSERT_NE(id, 0u);
  EXPECT_EQ(recording.records().at(0)->flags, event::flag_process_range);
  core<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd)(id);
  EXPECT_NE(recording.records().at(0)->end_ticks.load(), 0u);
}

TEST_F(NvtxTest, TooDeepRangesAreCounted) {
  for (int i = 0; i < 70; ++i) push("deep");
  for (int i = 0; i < 70; ++i) pop();
  EXPECT_EQ(recording.dropped(ring::DropCause::ranges_too_deep), 7u);
  EXPECT_EQ(recording.dropped(ring::DropCause::range_unmatched), 0u);
  EXPECT_EQ(recording.records().size(), 63u);
  for (const event::Record* record : recording.records()) EXPECT_NE(record->end_ticks.load(), 0u);
}

TEST_F(NvtxTest, EndsWithoutABeginAreCounted) {
  const auto unmatched = [this] { return recording.dropped(ring::DropCause::range_unmatched); };
  const auto start = core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA);
  const auto finish = core<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd);
  push("one");
  pop();
  EXPECT_EQ(unmatched(), 0u);
  for (int i = 0; i < 3; ++i) pop();
  EXPECT_EQ(unmatched(), 3u);
  const nvtxRangeId_t id = start("two");
  finish(id);
  EXPECT_EQ(unmatched(), 3u);
  finish(id);
  finish(0);  // what start() answers for one that is not followed
  EXPECT_EQ(unmatched(), 4u);
  // Nothing is recorded: nothing is lost.
  step::set_all_modes(step::Mode::pass);
  pop();
  finish(id);
  EXPECT_EQ(unmatched(), 4u);
}

// Open when a window begins: not in it, and its pop is neither another's nor unmatched.
TEST_F(NvtxTest, RangesThatWereOpenBeforeTheWindowAreNotCountedAsUnmatched) {
  step::set_all_modes(step::Mode::pass);
  push("before");
  step::set_all_modes(step::Mode::record);
  push("within");
  pop();
  pop();
  ASSERT_EQ(recording.records().size(), 1u);
  EXPECT_EQ(name_of(*recording.records()[0]), "within");
  EXPECT_NE(recording.records()[0]->end_ticks.load(), 0u);
  EXPECT_EQ(recording.dropped(ring::DropCause::range_unmatched), 0u);
}

// As above, several deep, the window ending within one that it recorded.
TEST_F(NvtxTest, ARangeThatAWindowRecordedEndsAtItsOwnPopAfterIt) {
  step::set_all_modes(step::Mode::pass);
  push("outermost");
  push("outer");
  step::set_all_modes(step::Mode::record);
  push("recorded");
  const event::Record& record = *recording.records().at(0);
  step::set_all_modes(step::Mode::pass);
  for (int deep = 1; deep <= 4; ++deep) {
    for (int i = 0; i < deep; ++i) push("after");
    for (int i = 0; i < deep; ++i) pop();
  }
  EXPECT_EQ(record.end_ticks.load(), 0u);
  pop();
  const std::uint64_t end_ticks = record.end_ticks.load();
  EXPECT_NE(end_ticks, 0u);
  step::set_all_modes(step::Mode::record);
  pop();
  pop();
  EXPECT_EQ(record.end_ticks.load(), end_ticks);
  EXPECT_EQ(recording.records().size(), 1u);
  EXPECT_EQ(recording.dropped(ring::DropCause::range_unmatched), 0u);
}

// The outer one's pop comes before the recorded one's: domains do not nest in each other.
TEST_F(NvtxTest, APopOfARangeThatNobodyHeardEndsNoneOfAnotherDomain) {
  const auto domain = domains<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA)("a");
  const auto push_in_domain = domains<int(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(
      NVTX_CBID_CORE2_DomainRangePushEx);
  const auto pop_in_domain = domains<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop);
  const nvtxEventAttributes_t attributes{};
  step::set_all_modes(step::Mode::pass);
  push_in_domain(domain, &attributes);
  step::set_all_modes(step::Mode::record);
  push("recorded");
  pop_in_domain(domain);
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
  step::set_all_modes(step::Mode::pass);
  push_in_domain(domain, &attributes);
  pop_in_domain(domain);
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
  pop();
  EXPECT_NE(recording.records().at(0)->end_ticks.load(), 0u);
}

// As in a forked child: a pop must not write into the parent's ring, which is shared memory.
TEST_F(NvtxTest, APopAfterForkLeavesTheParentsRingAlone) {
  push("epoch");
  ring::target.generation.fetch_add(1);
  pop();
  EXPECT_EQ(recording.records().at(0)->end_ticks.load(), 0u);
}

}  // namespace
}  // namespace traceagent::door
