// The NVTX door: every user of NVTX v3 reads NVTX_INJECTION64_PATH at its first use and calls
// InitializeInjectionNvtx2 of the library named there, which the constructor makes ours.

#include "agent/door/nvtx.hpp"

#include <nvtx3/nvToolsExt.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "agent/door/call.hpp"
#include "agent/door/interned_text.hpp"
#include "agent/door/nvtx_names.hpp"
#include "agent/door/nvtx_text.hpp"
#include "agent/door/range_stack.hpp"

namespace traceagent::door {
namespace {

constinit std::atomic<bool> door_open{false};
constinit std::atomic<std::uint64_t> clients{0};

// Not copyable: `text` may lie in `storage`.
struct RangeText {
  explicit RangeText(const char* message) noexcept {
    if (message != nullptr) text = message;
  }
  explicit RangeText(const wchar_t* message) noexcept : text(narrow(message, storage)) {}
  // Fields beyond `size` do not exist in the attributes of an older NVTX; all read here are in v2.
  explicit RangeText(const nvtxEventAttributes_t* attributes) noexcept;
  RangeText(const RangeText&) = delete;
  RangeText& operator=(const RangeText&) = delete;

  std::string_view text;
  std::uint32_t payload_type = NVTX_PAYLOAD_UNKNOWN;
  std::uint64_t payload = 0;
  std::uint64_t colour_and_category = 0;
  char storage[256];
};

RangeText::RangeText(const nvtxEventAttributes_t* attributes) noexcept {
  if (attributes == nullptr) return;
  colour_and_category = attributes->color | std::uint64_t{attributes->category} << 32;
  payload_type = static_cast<std::uint32_t>(attributes->payloadType);
  std::memcpy(&payload, &attributes->payload, sizeof payload);
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      if (attributes->message.ascii != nullptr) text = attributes->message.ascii;
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      text = narrow(attributes->message.unicode, storage);
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      text = registered_text(attributes->message.registered);
      break;
    default:
      break;
  }
}

step::Mode mode_now() noexcept {
  step::Mode mode = step::mode_of(step::CallClass::range);
  if (mode == step::Mode::unstarted) {
    start_process();
    mode = step::mode_of(step::CallClass::range);
  }
  return ring::writer.nested_in_start != 0 ? step::Mode::pass : mode;
}

step::Tracker* interested_tracker() noexcept {
  step::Tracker* steps = tracker.load(std::memory_order_acquire);
  if (steps == nullptr || (steps->interest() & step::interest_ranges) == 0) return nullptr;
  return steps;
}

Record* record_range(api::Function function, event::Layout layout, const void* domain,
                     const RangeText& range, std::uint64_t ticks, std::uint8_t flags) noexcept {
  Record* record = ring::claim(ring::writer);
  if (record == nullptr) return nullptr;
  record->function = static_cast<std::uint16_t>(function);
  record->layout = layout;
  record->flags = flags;
  record->result = 0;
  record->detail = range.payload_type;
  record->extra = intern(range.text);
  record->args[0] = domain_name_offset(domain);
  record->args[1] = range.payload;
  record->args[2] = range.colour_and_category;
  ring::publish(*record, ticks);
  return record;
}

void begin(OpenRange& open, const RangeText& range, std::uint8_t flags) noexcept {
  const step::Mode mode = mode_now();
  if (mode <= step::Mode::pass) return;
  const std::uint64_t ticks = event::read_ticks();
  open.set_name(range.text);
  if (step::Tracker* steps = interested_tracker()) steps->range_begin(range.text, ticks);
  if (step::mode_of(step::CallClass::range) != step::Mode::record) return;
  open.set_record(record_range(api::Function::nvtx_range, event::Layout::range, open.domain, range,
                               ticks, flags),
                  ticks);
}

void end(const OpenRange& open) noexcept {
  Record* record = open.own_record();
  if (record == nullptr && mode_now() <= step::Mode::pass) return;
  const std::uint64_t ticks = event::read_ticks();
  // The end first: the window that this pop may close must find the range ended.
  if (record != nullptr) record->end_ticks.store(ticks, std::memory_order_release);
  if (open.name_length == 0) return;
  if (step::Tracker* steps = interested_tracker()) steps->range_end(open.name_text(), ticks);
}

int push(const void* domain, const RangeText& range) noexcept {
  RangeStack* stack = RangeStack::of_this_thread();
  OpenRange* open = stack != nullptr ? stack->push(domain) : nullptr;
  if (open != nullptr) {
    begin(*open, range, 0);
  } else if (ring::target.ring.valid()) {
    ring::target.ring.count_drop(ring::DropCause::ranges_too_deep);
  }
  // What NVTX itself answers where no tool is attached: the job sees no difference.
  return NVTX_NO_PUSH_POP_TRACKING;
}

// The trace lacks a range that nobody saw begin. One that was too deep was counted then.
void count_unmatched() noexcept {
  if (step::mode_of(step::CallClass::range) != step::Mode::record) return;
  ring::target.ring.count_drop(ring::DropCause::range_unmatched);
}

int pop(const void* domain) noexcept {
  RangeStack* stack = RangeStack::of_this_thread();
  const bool is_too_deep = stack == nullptr || stack->is_too_deep();
  OpenRange open;
  if (stack != nullptr && stack->pop(domain, open)) {
    end(open);
  } else if (!is_too_deep) {
    count_unmatched();
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

nvtxRangeId_t start(const void* domain, const RangeText& range) noexcept {
  OpenRange open{};
  open.domain = domain;
  begin(open, range, event::flag_process_range);
  if (open.name_length == 0 && open.record == nullptr) return 0;
  const nvtxRangeId_t id = start_range(open);
  if (id == 0 && open.record != nullptr) {
    // More open ranges than we follow: it stays in the trace as an instant, and is counted.
    open.record->end_ticks.store(open.record->begin_ticks.load(std::memory_order_relaxed),
                                 std::memory_order_release);
    ring::target.ring.count_drop(ring::DropCause::ranges_too_deep);
  }
  return id;
}

void finish(nvtxRangeId_t id) noexcept {
  OpenRange open;
  if (end_range(id, open)) {
    end(open);
  } else if (id != 0) {  // else it was too much to follow, or began while nothing was recorded
    count_unmatched();
  }
}

void mark(const void* domain, const RangeText& range) noexcept {
  if (mode_now() <= step::Mode::pass) return;
  const std::uint64_t ticks = event::read_ticks();
  if (step::Tracker* steps = interested_tracker()) steps->mark(range.text, ticks);
  if (step::mode_of(step::CallClass::range) != step::Mode::record) return;
  Record* record =
      record_range(api::Function::nvtx_mark, event::Layout::mark, domain, range, ticks, 0);
  if (record != nullptr) record->end_ticks.store(ticks, std::memory_order_release);
}

// One function per NVTX callback, with NVTX's own signature.
void mark_ex(const nvtxEventAttributes_t* attributes) { mark(nullptr, RangeText(attributes)); }
void mark_a(const char* message) { mark(nullptr, RangeText(message)); }
void mark_w(const wchar_t* message) { mark(nullptr, RangeText(message)); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* attributes) {
  return start(nullptr, RangeText(attributes));
}
nvtxRangeId_t start_a(const char* message) { return start(nullptr, RangeText(message)); }
nvtxRangeId_t start_w(const wchar_t* message) { return start(nullptr, RangeText(message)); }
int push_ex(const nvtxEventAttributes_t* attributes) {
  return push(nullptr, RangeText(attributes));
}
int push_a(const char* message) { return push(nullptr, RangeText(message)); }
int push_w(const wchar_t* message) { return push(nullptr, RangeText(message)); }
int pop_default() { return pop(nullptr); }

void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  mark(domain, RangeText(attributes));
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return start(domain, RangeText(attributes));
}
void domain_finish(nvtxDomainHandle_t, nvtxRangeId_t id) { finish(id); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return push(domain, RangeText(attributes));
}
int domain_pop(nvtxDomainHandle_t domain) { return pop(domain); }
nvtxStringHandle_t register_ascii(nvtxDomainHandle_t, const char* text) {
  return static_cast<nvtxStringHandle_t>(register_text(text != nullptr ? text : ""));
}
nvtxStringHandle_t register_wide(nvtxDomainHandle_t, const wchar_t* text) {
  char storage[256];
  return static_cast<nvtxStringHandle_t>(register_text(narrow(text, storage)));
}
nvtxDomainHandle_t create_domain_a(const char* name) {
  return static_cast<nvtxDomainHandle_t>(register_text(name != nullptr ? name : ""));
}
nvtxDomainHandle_t create_domain_w(const wchar_t* name) {
  char storage[256];
  return static_cast<nvtxDomainHandle_t>(register_text(narrow(name, storage)));
}

void install_core(NvtxFunctionTable table, unsigned size) noexcept {
  install(table, size, NVTX_CBID_CORE_MarkEx, mark_ex);
  install(table, size, NVTX_CBID_CORE_MarkA, mark_a);
  install(table, size, NVTX_CBID_CORE_MarkW, mark_w);
  install(table, size, NVTX_CBID_CORE_RangeStartEx, start_ex);
  install(table, size, NVTX_CBID_CORE_RangeStartA, start_a);
  install(table, size, NVTX_CBID_CORE_RangeStartW, start_w);
  install(table, size, NVTX_CBID_CORE_RangeEnd, finish);
  install(table, size, NVTX_CBID_CORE_RangePushEx, push_ex);
  install(table, size, NVTX_CBID_CORE_RangePushA, push_a);
  install(table, size, NVTX_CBID_CORE_RangePushW, push_w);
  install(table, size, NVTX_CBID_CORE_RangePop, pop_default);
}

void install_domains(NvtxFunctionTable table, unsigned size) noexcept {
  install(table, size, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  install(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  install(table, size, NVTX_CBID_CORE2_DomainRangeEnd, domain_finish);
  install(table, size, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  install(table, size, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  install(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_ascii);
  install(table, size, NVTX_CBID_CORE2_DomainRegisterStringW, register_wide);
  install(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain_a);
  install(table, size, NVTX_CBID_CORE2_DomainCreateW, create_domain_w);
}

}  // namespace

void open_nvtx_door(bool is_open) noexcept { door_open.store(is_open, std::memory_order_relaxed); }
std::uint64_t nvtx_clients() noexcept { return clients.load(std::memory_order_relaxed); }

int attach_to_nvtx_client(NvtxGetExportTableFunc_t export_table) noexcept {
  if (export_table == nullptr || !door_open.load(std::memory_order_relaxed)) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) return 0;
  install_core(table, size);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) != 0) {
    install_domains(table, size);
  }
  install_resource_names(*callbacks);
  clients.fetch_add(1, std::memory_order_relaxed);
  return 1;
}

}  // namespace traceagent::door

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t export_table) {
  return traceagent::door::attach_to_nvtx_client(export_table);
}
