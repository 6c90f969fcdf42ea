#include "agent/drain/event_text.hpp"

#include <cxxabi.h>

#include <bit>
#include <cstdlib>

#include "agent/api/function.hpp"
#include "agent/drain/collective_terms.hpp"
#include "agent/drain/plan_text.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;
using trace::Hex;

EventText::EventText(const ring::Ring& ring, trace::EventWriter& writer,
                     const CollectivePlans* plans)
    : ring_(ring), writer_(writer), plans_(plans) {}

void EventText::write(const Record& record, std::int64_t tid, const EventTimes& times) {
  if (record.layout == Layout::range || record.layout == Layout::mark) {
    write_range(record, tid, times);
  } else if (record.layout == Layout::collective_plan) {
    write_plan_part(writer_, record, tid, times.ts_ns, times.dur_ns);
  } else {
    write_call(record, tid, times);
  }
}

void EventText::write_call(const Record& record, std::int64_t tid, const EventTimes& times) {
  const api::FunctionName& name = api::name_of(static_cast<api::Function>(record.function));
  writer_.complete(name.shown, name.category, tid, times.ts_ns, times.dur_ns);
  const Record& in_ring = plans_ != nullptr ? plans_->in_ring(record) : record;
  writer_.arg("correlation", correlation_of(ring_, in_ring));
  if (times.in_flight) {
    writer_.arg("in flight", true);
  } else {
    writer_.arg("result", record.result);
  }
  switch (record.layout) {
    case Layout::launch:
      launch_args(record);
      break;
    case Layout::copy:
    case Layout::peer_copy:
      copy_args(record);
      break;
    case Layout::set:
    case Layout::allocation:
      writer_.arg("pointer", Hex{record.args[0]});
      if (record.args[2] != 0) writer_.arg("bytes", record.args[2]);
      if (record.args[3] != 0) writer_.arg("stream", Hex{record.args[3]});
      break;
    case Layout::stream:
      writer_.arg("stream", Hex{record.args[3]});
      break;
    case Layout::event:
      writer_.arg("event", Hex{record.args[0]});
      if (record.args[3] != 0) writer_.arg("stream", Hex{record.args[3]});
      break;
    case Layout::synchronise:
      writer_.arg("handle", Hex{record.args[0]});
      break;
    case Layout::device:
      writer_.arg("device", static_cast<std::int32_t>(record.detail));
      break;
    case Layout::graph:
      writer_.arg("graph", Hex{record.args[0]});
      if (record.args[3] != 0) writer_.arg("stream", Hex{record.args[3]});
      break;
    case Layout::collective:
      collective_args(record);
      break;
    case Layout::communicator:
      communicator_args(record);
      break;
    default:
      break;
  }
  writer_.end();
}

std::string_view EventText::demangled(std::uint32_t name) {
  const auto [found, is_new] = demangled_.try_emplace(name);
  if (!is_new) return found->second;
  const std::string mangled(ring_.name(name));
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  found->second = status == 0 && text != nullptr ? text : mangled;
  std::free(text);
  return found->second;
}

namespace {

std::string_view three(char (&storage)[48], std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  char* at = storage;
  *at++ = '[';
  at = trace::put_unsigned(at, x);
  *at++ = ',';
  at = trace::put_unsigned(at, y);
  *at++ = ',';
  at = trace::put_unsigned(at, z);
  *at++ = ']';
  return {storage, static_cast<std::size_t>(at - storage)};
}

constexpr std::uint64_t low(std::uint64_t word) noexcept { return word & 0xffffffffu; }
constexpr std::uint64_t high(std::uint64_t word) noexcept { return word >> 32; }

constexpr const char* copy_kinds[] = {"HtoH", "HtoD", "DtoH", "DtoD", "default"};

}  // namespace

void EventText::launch_args(const Record& record) {
  char storage[48];
  if (record.extra != 0) writer_.arg("kernel", demangled(record.extra));
  writer_.arg("grid", trace::RawJson{three(storage, low(record.args[0]), high(record.args[0]),
                                           low(record.args[1]))});
  writer_.arg("block", trace::RawJson{three(storage, high(record.args[1]), low(record.args[2]),
                                            high(record.args[2]))});
  writer_.arg("shared memory", record.detail);
  writer_.arg("stream", Hex{record.args[3]});
}

void EventText::copy_args(const Record& record) {
  if (record.layout == Layout::peer_copy) {
    writer_.arg("to device", static_cast<std::int32_t>(record.detail));
    writer_.arg("from device", static_cast<std::int32_t>(record.extra));
  } else if (record.detail < std::size(copy_kinds)) {
    writer_.arg("kind", copy_kinds[record.detail]);
  } else {
    writer_.arg("kind", record.detail);
  }
  writer_.arg("bytes", record.args[2]);
  writer_.arg("dst", Hex{record.args[0]});
  writer_.arg("src", Hex{record.args[1]});
  writer_.arg("stream", Hex{record.args[3]});
}

const ring::Communicator* EventText::communicator(const Record& record) const noexcept {
  if (record.extra == 0 || record.extra > ring::communicator_slots) return nullptr;
  return &ring_.header().communicators[record.extra - 1];
}

void EventText::communicator_args(const Record& record) {
  const ring::Communicator* comm = communicator(record);
  if (comm == nullptr) return;
  writer_.arg("comm hash", Hex{comm->hash.load(std::memory_order_acquire)});
  if (comm->size > 0) {
    writer_.arg("Group size", comm->size);
    writer_.arg("comm rank", comm->rank);
  }
}

void EventText::collective_args(const Record& record) {
  const auto kind = static_cast<event::Collective>(record.detail);
  const auto datatype = static_cast<unsigned>(record.args[2] & 0xff);
  const auto reduction = static_cast<unsigned>(record.args[2] >> 8 & 0xff);
  const auto peer = static_cast<std::int32_t>(record.args[2] >> 32);
  const std::uint64_t count = record.args[0];
  const ring::Communicator* comm = communicator(record);
  const std::uint64_t ranks =
      comm != nullptr && comm->size > 0 ? static_cast<std::uint64_t>(comm->size) : 1;
  const MessageElements elements = message_elements(kind, count, ranks);

  writer_.arg("Collective name", collective_name(kind));
  writer_.arg("In msg nelems", elements.in);
  writer_.arg("Out msg nelems", elements.out);
  writer_.arg("Group size", ranks);
  writer_.arg("dtype", datatype_name(datatype));
  writer_.arg("bytes", count * datatype_bytes(datatype));
  writer_.arg("Seq", record.args[1]);
  if (reduction < 0xff) writer_.arg("reduction", reduction_name(reduction));
  if (kind == event::Collective::send) writer_.arg("Dst Rank", peer);
  if (kind == event::Collective::receive) writer_.arg("Src Rank", peer);
  if (has_root(kind)) writer_.arg("root", peer);
  if (comm != nullptr) {
    char name[16];
    const std::uint64_t hash = comm->hash.load(std::memory_order_acquire);
    char* end = trace::put_unsigned(name, record.extra - 1);
    writer_.arg("Process Group Name", std::string_view(name, static_cast<std::size_t>(end - name)));
    writer_.arg("comm hash", Hex{hash});
    writer_.arg("comm rank", comm->rank);
  }
  if ((record.flags & event::flag_in_place) != 0) writer_.arg("in place", true);
  if ((record.flags & event::flag_in_group) != 0) writer_.arg("in group", true);
  const auto* joined = plans_ != nullptr ? plans_->of(record) : nullptr;
  if (joined != nullptr) write_plan(writer_, ring_, *joined);
  writer_.arg("stream", Hex{record.args[3]});
}

void EventText::payload_arg(const Record& record) {
  // nvtxPayloadType_t: 1 uint64, 2 int64, 3 double, 4 uint32, 5 int32, 6 float.
  const std::uint64_t payload = record.args[1];
  switch (record.detail) {
    case 1:
      return writer_.arg("payload", payload);
    case 2:
      return writer_.arg("payload", static_cast<std::int64_t>(payload));
    case 3:
      return writer_.arg("payload", std::bit_cast<double>(payload));
    case 4:
      return writer_.arg("payload", static_cast<std::uint32_t>(payload));
    case 5:
      return writer_.arg("payload", static_cast<std::int32_t>(payload));
    case 6:
      return writer_.arg("payload",
                         double{std::bit_cast<float>(static_cast<std::uint32_t>(payload))});
    default:
      return;
  }
}

void EventText::write_range(const Record& record, std::int64_t tid, const EventTimes& times) {
  std::string_view name = ring_.name(record.extra);
  if (name.empty()) name = "(unnamed)";
  const bool is_mark = record.layout == Layout::mark;
  if (is_mark) {
    writer_.instant(name, "user_annotation", tid, times.ts_ns);
  } else {
    writer_.complete(name, "user_annotation", tid, times.ts_ns, times.dur_ns);
  }
  const std::string_view domain = ring_.name(static_cast<std::uint32_t>(record.args[0]));
  if (!domain.empty()) writer_.arg("domain", domain);
  payload_arg(record);
  if (high(record.args[2]) != 0) writer_.arg("category", high(record.args[2]));
  if (times.in_flight && !is_mark) writer_.arg("in flight", true);
  writer_.end();
}

}  // namespace traceagent::drain
