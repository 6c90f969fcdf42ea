// Any calls of NVTX with any attributes: ranges, marks, domains, registered and wide strings.
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cwchar>
#include <string>
#include <vector>

#include "agent/door/nvtx.hpp"
#include "agent/ring/writer.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/unit/door/recording.hpp"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);

namespace {

using namespace traceagent;

template <std::size_t size>
struct Module {
  std::array<NvtxFunctionPointer, size> functions{};
  std::array<NvtxFunctionPointer*, size + 1> table{};
  Module() {
    for (std::size_t i = 0; i < size; ++i) table[i] = &functions[i];
  }
};
Module<NVTX_CBID_CORE_SIZE> core;
Module<NVTX_CBID_CORE2_SIZE> domains;

int module_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2) return 0;
  const bool is_core = module == NVTX_CB_MODULE_CORE;
  *table = is_core ? core.table.data() : domains.table.data();
  *size = static_cast<unsigned>(is_core ? +NVTX_CBID_CORE_SIZE : +NVTX_CBID_CORE2_SIZE);
  return 1;
}
const NvtxExportTableCallbacks callbacks = {sizeof callbacks, module_table};
const void* export_table(std::uint32_t id) {
  return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
}

template <class Function>
Function* call(unsigned id) {
  return reinterpret_cast<Function*>(core.functions[id]);
}
template <class Function>
Function* domain_call(unsigned id) {
  return reinterpret_cast<Function*>(domains.functions[id]);
}

// What the program holds on to.
struct Program {
  std::vector<std::string> texts;
  std::vector<std::wstring> wide_texts;
  std::vector<nvtxStringHandle_t> strings = {nullptr};
  std::vector<nvtxDomainHandle_t> domains = {nullptr};
  std::vector<nvtxRangeId_t> ranges = {0};

  const char* text(fuzz::Input& input) {
    texts.emplace_back(input.take(input.number<std::uint8_t>()));
    return texts.back().c_str();
  }
  const wchar_t* wide(fuzz::Input& input) {
    std::wstring text;
    for (int i = input.number<std::uint8_t>() % 128; i > 0; --i) {
      text += static_cast<wchar_t>(input.number<std::uint32_t>());
    }
    wide_texts.push_back(text);
    return wide_texts.back().c_str();
  }
  nvtxEventAttributes_t attributes(fuzz::Input& input) {
    nvtxEventAttributes_t made{};
    made.version = input.number<std::uint16_t>();
    made.size = static_cast<std::uint16_t>(input.number<std::uint16_t>() % (2 * sizeof made));
    made.category = input.number<std::uint32_t>();
    made.colorType = input.number<std::uint8_t>();
    made.color = input.number<std::uint32_t>();
    made.payloadType = input.number<std::uint8_t>();
    made.payload.ullValue = input.number<std::uint64_t>();
    made.messageType = input.number<std::uint8_t>() % 5;
    if (made.messageType == NVTX_MESSAGE_TYPE_ASCII) made.message.ascii = text(input);
    if (made.messageType == NVTX_MESSAGE_TYPE_UNICODE) made.message.unicode = wide(input);
    if (made.messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
      made.message.registered = strings[input.number<std::uint8_t>() % strings.size()];
    }
    return made;
  }
  nvtxDomainHandle_t domain(fuzz::Input& input) {
    return domains[input.number<std::uint8_t>() % domains.size()];
  }
};

void do_next(Program& program, fuzz::Input& input) {
  switch (input.number<std::uint8_t>() % 12) {
    case 0:
      return call<void(const char*)>(NVTX_CBID_CORE_MarkA)(program.text(input));
    case 1:
      return call<void(const wchar_t*)>(NVTX_CBID_CORE_MarkW)(program.wide(input));
    case 2: {
      const auto attributes = program.attributes(input);
      call<int(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_RangePushEx)(&attributes);
      return;
    }
    case 3:
      call<int()>(NVTX_CBID_CORE_RangePop)();
      return;
    case 4:
      call<int(const char*)>(NVTX_CBID_CORE_RangePushA)(program.text(input));
      return;
    case 5:
      program.ranges.push_back(
          call<nvtxRangeId_t(const wchar_t*)>(NVTX_CBID_CORE_RangeStartW)(program.wide(input)));
      return;
    case 6: {
      const auto attributes = program.attributes(input);
      program.ranges.push_back(
          domain_call<nvtxRangeId_t(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(
              NVTX_CBID_CORE2_DomainRangeStartEx)(program.domain(input), &attributes));
      return;
    }
    case 7: {
      const bool is_known = (input.number<std::uint8_t>() & 1) != 0;
      const nvtxRangeId_t id =
          is_known ? program.ranges[input.number<std::uint8_t>() % program.ranges.size()]
                   : input.number<std::uint64_t>();
      return call<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd)(id);
    }
    case 8:
      program.strings.push_back(domain_call<nvtxStringHandle_t(nvtxDomainHandle_t, const char*)>(
          NVTX_CBID_CORE2_DomainRegisterStringA)(program.domain(input), program.text(input)));
      return;
    case 9:
      program.domains.push_back(domain_call<nvtxDomainHandle_t(const wchar_t*)>(
          NVTX_CBID_CORE2_DomainCreateW)(program.wide(input)));
      return;
    case 10: {
      const auto attributes = program.attributes(input);
      domain_call<int(nvtxDomainHandle_t, const nvtxEventAttributes_t*)>(
          NVTX_CBID_CORE2_DomainRangePushEx)(program.domain(input), &attributes);
      return;
    }
    default:
      domain_call<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(program.domain(input));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool attached = [] {
    door::open_nvtx_door(true);
    return InitializeInjectionNvtx2(export_table) == 1;
  }();
  if (!attached) fuzz::fail("not attached");
  door::Recording recording(512 * 1024);
  Program program;
  program.texts.reserve(1024);
  program.wide_texts.reserve(1024);
  fuzz::Input input(data, size);
  for (int i = 0; i < 512 && !input.empty(); ++i) do_next(program, input);
  for (const event::Record* record : recording.records()) {
    if (record->extra != 0 && recording.ring().name(record->extra).data() == nullptr) {
      fuzz::fail("a name that is none");
    }
  }
  // The stacks outlive this program: what it left open is popped.
  for (int i = 0; i < 512; ++i) call<int()>(NVTX_CBID_CORE_RangePop)();
  return 0;
}
