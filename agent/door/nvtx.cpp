// The NVTX door: every user of NVTX v3 reads NVTX_INJECTION64_PATH at its first use and calls
// InitializeInjectionNvtx2 of the library named there, which the constructor makes ours.

#include "agent/door/nvtx.hpp"

#include <nvtx3/nvToolsExt.h>

#include <atomic>

#include "agent/door/call.hpp"
#include "agent/door/interned_text.hpp"
#include "agent/door/nvtx_names.hpp"
#include "agent/door/nvtx_text.hpp"
#include "agent/door/range_stack.hpp"

namespace traceagent::door {
namespace {

constinit std::atomic<bool> door_open{false};
constinit std::atomic<std::uint64_t> clients{0};

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
  record->extra = intern_of_range(range.text);
  record->args[0] = domain_name_offset(domain);
  record->args[1] = range.payload;
  record->args[2] = range.colour_and_category;
  ring::publish(*record, ticks);
  return record;
}

// Most names are known for none of a step's before their length is.
bool may_be_step(const step::Tracker& steps, const char* message) noexcept {
  return message != nullptr && steps.may_begin_step_name(*message);
}
template <class Message>
bool may_be_step(const step::Tracker&, Message) noexcept {
  return true;
}

// What nobody asks for is not read. `tell_steps` is for a range that may be a step, `record` for
// one that is recorded.
template <class Message, class TellSteps, class RecordRange>
void hear(Message message, const TellSteps& tell_steps, const RecordRange& record) noexcept {
  const step::Mode mode = mode_now();
  if (mode <= step::Mode::pass) return;
  step::Tracker* steps = interested_tracker();
  if (mode != step::Mode::record && (steps == nullptr || !may_be_step(*steps, message))) return;
  const RangeText range(message);
  const step::StepName name = steps != nullptr ? steps->step_name(range.text) : step::no_step_name;
  if (name == step::no_step_name && mode != step::Mode::record) return;
  const std::uint64_t ticks = event::read_ticks();
  if (name != step::no_step_name) tell_steps(*steps, name, ticks);
  // Read only now: this very range may have begun the step that opens a window.
  if (step::mode_of(step::CallClass::range) == step::Mode::record) record(range, ticks);
}

// This and its like are out of line: what passes saves no register for it.
template <class Message>
[[gnu::noinline]] void begin_heard(OpenRange& open, Message message, std::uint8_t flags) noexcept {
  hear(
      message,
      [&open](step::Tracker& steps, step::StepName name, std::uint64_t ticks) {
        open.step_name = name;
        steps.range_begin(name, ticks);
      },
      [&open, flags](const RangeText& range, std::uint64_t ticks) {
        open.set_record(record_range(api::Function::nvtx_range, event::Layout::range, open.domain,
                                     range, ticks, flags),
                        ticks);
      });
}

template <class Message>
void begin(OpenRange& open, Message message, std::uint8_t flags) noexcept {
  if (step::mode_of(step::CallClass::range) == step::Mode::pass) [[likely]] {
    return;
  }
  begin_heard(open, message, flags);
}

[[gnu::noinline]] void end_heard(const OpenRange& open) noexcept {
  Record* record = open.own_record();
  if (record == nullptr && mode_now() <= step::Mode::pass) return;
  const std::uint64_t ticks = event::read_ticks();
  // The end first: the window that this pop may close must find the range ended.
  if (record != nullptr) record->end_ticks.store(ticks, std::memory_order_release);
  if (open.step_name == step::no_step_name) return;
  if (step::Tracker* steps = interested_tracker()) steps->range_end(open.step_name, ticks);
}

void end(const OpenRange& open) noexcept {
  if (!open.is_unheard()) end_heard(open);
}

[[gnu::noinline]] void count_too_deep() noexcept {
  if (ring::target.ring.valid()) {
    ring::target.ring.count_drop(ring::DropCause::ranges_too_deep);
  }
}

// Of a range that is pushed now: whether it will be recorded or may be a step.
template <class Message>
bool is_asked_for(Message message) noexcept {
  const step::Mode mode = step::mode_of(step::CallClass::range);
  if (mode == step::Mode::pass) return false;
  if (mode == step::Mode::unstarted || mode == step::Mode::record) return true;
  step::Tracker* steps = interested_tracker();
  return steps != nullptr && may_be_step(*steps, message);
}

template <class Message>
[[gnu::noinline]] void push_followed(const void* domain, Message message) noexcept {
  RangeStack* stack = RangeStack::of_this_thread();
  if (stack == nullptr) RangeStack::note_unfollowed_push();
  OpenRange* open = stack != nullptr ? stack->push(domain) : nullptr;
  if (open != nullptr) {
    begin(*open, message, 0);
    stack->keep_if_heard();
  } else if (step::mode_of(step::CallClass::range) != step::Mode::pass) {
    count_too_deep();
  }
}

// This and pop() are in line, for all else that a range costs while nothing is recorded would be
// their calls.
[[gnu::always_inline]] inline bool push_unheard(const void* domain) noexcept {
  RangeStack* own = own_range_stack;
  if (own != nullptr) return own->push_unheard(domain);
  RangeStack::note_unfollowed_push();
  return true;
}

template <class Message>
int push(const void* domain, Message message) noexcept {
  if (is_asked_for(message) || !push_unheard(domain)) push_followed(domain, message);
  // What NVTX itself answers where no tool is attached: the job sees no difference.
  return NVTX_NO_PUSH_POP_TRACKING;
}

// The trace lacks a range that nobody saw begin. One that was too deep was counted then.
void count_unmatched() noexcept {
  if (step::mode_of(step::CallClass::range) != step::Mode::record) return;
  ring::target.ring.count_drop(ring::DropCause::range_unmatched);
}

[[gnu::noinline]] void pop_unmatched() noexcept {
  if (!RangeStack::has_unfollowed_pushes()) count_unmatched();
}

[[gnu::noinline]] void pop_followed(RangeStack& stack, const void* domain) noexcept {
  const bool is_too_deep = stack.is_too_deep();
  OpenRange open;
  if (stack.pop(domain, open)) {
    end(open);
  } else if (!is_too_deep) {
    pop_unmatched();
  }
}

[[gnu::always_inline]] inline int pop(const void* domain) noexcept {
  if (RangeStack::is_empty_here()) {
    if (step::mode_of(step::CallClass::range) == step::Mode::record) pop_unmatched();
  } else if (!own_range_stack->pop_unheard(domain)) {
    pop_followed(*own_range_stack, domain);
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

template <class Message>
nvtxRangeId_t start(const void* domain, Message message) noexcept {
  OpenRange open{};
  open.domain = domain;
  begin(open, message, event::flag_process_range);
  if (open.is_unheard()) return 0;
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

template <class Message>
[[gnu::noinline]] void mark_heard(const void* domain, Message message) noexcept {
  hear(
      message,
      [](step::Tracker& steps, step::StepName name, std::uint64_t ticks) {
        steps.mark(name, ticks);
      },
      [domain](const RangeText& range, std::uint64_t ticks) {
        Record* record =
            record_range(api::Function::nvtx_mark, event::Layout::mark, domain, range, ticks, 0);
        if (record != nullptr) record->end_ticks.store(ticks, std::memory_order_release);
      });
}

template <class Message>
void mark(const void* domain, Message message) noexcept {
  if (step::mode_of(step::CallClass::range) != step::Mode::pass) mark_heard(domain, message);
}

// One function per NVTX callback, with NVTX's own signature.
void mark_ex(const nvtxEventAttributes_t* attributes) { mark(nullptr, attributes); }
void mark_a(const char* message) { mark(nullptr, message); }
void mark_w(const wchar_t* message) { mark(nullptr, message); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* attributes) {
  return start(nullptr, attributes);
}
nvtxRangeId_t start_a(const char* message) { return start(nullptr, message); }
nvtxRangeId_t start_w(const wchar_t* message) { return start(nullptr, message); }
int push_ex(const nvtxEventAttributes_t* attributes) { return push(nullptr, attributes); }
int push_a(const char* message) { return push(nullptr, message); }
int push_w(const wchar_t* message) { return push(nullptr, message); }
int pop_default() { return pop(nullptr); }

void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  mark(domain, attributes);
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return start(domain, attributes);
}
void domain_finish(nvtxDomainHandle_t, nvtxRangeId_t id) { finish(id); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return push(domain, attributes);
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
