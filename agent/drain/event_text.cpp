#include "agent/drain/event_text.hpp"

#include <bit>

#include "agent/api/error_name.hpp"
#include "agent/api/function.hpp"
#include "agent/drain/collective_text.hpp"
#include "agent/drain/demangled_names.hpp"
#include "agent/drain/plan_text.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;
using trace::Hex;

EventText::EventText(const ring::Ring& ring, trace::EventWriter& writer,
                     const CollectivePlans* plans, const SimulatedCalls* simulated)
    : ring_(ring), writer_(writer), plans_(plans), simulated_(simulated), names_(ring) {}

void EventText::write(const Record& record, std::int64_t tid, const EventTimes& times,
                      std::uint32_t kernel) {
  if (record.layout == Layout::range || record.layout == Layout::mark) {
    write_range(record, tid, times);
  } else if (record.layout == Layout::collective_plan) {
    write_plan_part(writer_, record, tid, times.ts_ns, times.dur_ns);
  } else {
    write_call(record, tid, times, kernel);
  }
}

void error_arg(trace::EventWriter& writer, std::string_view category, std::int32_t result) {
  const std::string_view error = api::error_name(category, result);
  if (error.empty()) return;
  // What a communicator made without blocking answers while all goes well.
  if (error == "ncclInProgress") return writer.arg("state", error);
  writer.arg("error", error);
}

void EventText::write_call(const Record& record, std::int64_t tid, const EventTimes& times,
                           std::uint32_t kernel) {
  const api::FunctionName& name = api::name_of(static_cast<api::Function>(record.function));
  writer_.complete(name.shown, name.category, tid, times.ts_ns, times.dur_ns);
  const Record& in_ring = plans_ != nullptr ? plans_->in_ring(record) : record;
  writer_.arg("correlation", correlation_of(ring_, in_ring));
  if (times.in_flight) {
    writer_.arg("in flight", true);
  } else {
    writer_.arg("result", record.result);
    if (record.result != 0) error_arg(writer_, name.category, record.result);
  }
  call_args(record, name.shown, kernel);
  writer_.end();
}

void EventText::call_args(const Record& record, std::string_view name, std::uint32_t kernel) {
  switch (record.layout) {
    case Layout::launch:
      return launch_args(record, record.extra != 0 ? record.extra : kernel);
    case Layout::copy:
    case Layout::peer_copy:
      return copy_args(record);
    case Layout::set:
    case Layout::allocation:
      writer_.arg("pointer", Hex{record.args[0]});
      if (record.args[2] != 0) writer_.arg("bytes", record.args[2]);
      return stream_arg(record);
    case Layout::stream:
      return writer_.arg("stream", Hex{record.args[3]});
    case Layout::event:
      writer_.arg("event", Hex{record.args[0]});
      return stream_arg(record);
    case Layout::synchronise:
      return handle_arg(record, name);
    case Layout::device:
      return writer_.arg("device", static_cast<std::int32_t>(record.detail));
    case Layout::graph:
      writer_.arg("graph", Hex{record.args[0]});
      return stream_arg(record);
    case Layout::collective:
      return collective_args(record);
    case Layout::communicator:
      return communicator_args(record);
    default:
      return;
  }
}

void EventText::stream_arg(const Record& record) {
  if (record.args[3] != 0) writer_.arg("stream", Hex{record.args[3]});
}

// A device has none; of a stream 0 is the default one's.
void EventText::handle_arg(const Record& record, std::string_view name) {
  if (record.args[0] != 0 || name.find("Stream") != name.npos) {
    writer_.arg("handle", Hex{record.args[0]});
  }
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

void EventText::launch_args(const Record& record, std::uint32_t kernel) {
  char storage[48];
  if (kernel != 0) writer_.arg("kernel", names_.name(kernel));
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
  if (record.args[2] != event::unknown_bytes) writer_.arg("bytes", record.args[2]);
  writer_.arg("dst", Hex{record.args[0]});
  writer_.arg("src", Hex{record.args[1]});
  writer_.arg("stream", Hex{record.args[3]});
}

void EventText::communicator_args(const Record& record) {
  const ring::Communicator* comm = communicator_of(ring_, record);
  if (comm == nullptr) return;
  const std::uint64_t hash = comm->hash.load(std::memory_order_acquire);
  if (hash != 0) writer_.arg("comm hash", Hex{hash});
  if (comm->size > 0) {
    writer_.arg("Group size", comm->size);
    writer_.arg("comm rank", comm->rank);
  }
}

void EventText::collective_args(const Record& record) {
  if (simulated_ != nullptr && simulated_->has(record)) {
    writer_.arg("simulated", true);  // nothing of it was ever sent
    return writer_.arg("stream", Hex{record.args[3]});
  }
  CollectiveTerms terms;
  add_collective(ring_, record, terms);
  write_collective(writer_, ring_, terms);
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
