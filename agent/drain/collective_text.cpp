#include "agent/drain/collective_text.hpp"

#include <algorithm>
#include <utility>

#include "agent/api/function.hpp"
#include "agent/drain/collective_terms.hpp"
#include "agent/event/plan_record.hpp"

namespace traceagent::drain {

using api::Function;
using event::Collective;
using event::Layout;
using event::Record;
using trace::Hex;

const ring::Communicator* communicator_of(const ring::Ring& ring, const Record& record) noexcept {
  if (record.extra == 0 || record.extra > ring::communicator_slots) return nullptr;
  return &ring.header().communicators[record.extra - 1];
}

namespace {

Collective kind_of(const Record& record) noexcept { return static_cast<Collective>(record.detail); }
unsigned datatype_of(const Record& record) noexcept { return record.args[2] & 0xff; }
unsigned reduction_of(const Record& record) noexcept { return record.args[2] >> 8 & 0xff; }
std::int32_t peer_of(const Record& record) noexcept {
  return static_cast<std::int32_t>(record.args[2] >> 32);
}

// 0: not known.
std::uint64_t ranks_of(const ring::Communicator* comm) noexcept {
  return comm != nullptr && comm->size > 0 ? static_cast<std::uint64_t>(comm->size) : 0;
}

bool has_sequence(const Record& record) noexcept {
  return event::is_point_to_point(kind_of(record)) ? record.args[1] < event::peer_sequence_lost
                                                   : record.args[1] < event::sequence_lost;
}

bool is_same_operation(const Record& a, const Record& b) noexcept {
  return a.extra == b.extra && a.detail == b.detail && datatype_of(a) == datatype_of(b) &&
         reduction_of(a) == reduction_of(b);
}

}  // namespace

void add_collective(const ring::Ring& ring, const Record& record, CollectiveTerms& terms) noexcept {
  if (terms.first == nullptr) terms.first = &record;
  terms.same_operation = terms.same_operation && is_same_operation(*terms.first, record);
  terms.same_communicator = terms.same_communicator && terms.first->extra == record.extra;
  const MessageElements elements =
      message_elements(kind_of(record), record.args[0], ranks_of(communicator_of(ring, record)));
  terms.in_elements += elements.in;
  terms.out_elements += elements.out;
  terms.bytes += record.args[0] * datatype_bytes(datatype_of(record));
  ++terms.count;
}

namespace {

// Kineto's five, which are there all or not at all, and what belongs to them. Of a communicator
// whose size is not known the name and the bytes alone are true.
void write_operation(trace::EventWriter& writer, const CollectiveTerms& terms,
                     const ring::Communicator* comm) {
  const Record& record = *terms.first;
  const Collective kind = kind_of(record);
  writer.arg("Collective name", collective_name(kind));
  if (const std::uint64_t ranks = ranks_of(comm); ranks != 0) {
    writer.arg("In msg nelems", terms.in_elements);
    writer.arg("Out msg nelems", terms.out_elements);
    writer.arg("Group size", ranks);
    writer.arg("dtype", datatype_name(datatype_of(record)));
  }
  writer.arg("bytes", terms.bytes);
  if (has_sequence(record)) writer.arg("Seq", record.args[1]);
  if (reduction_of(record) < 0xff) {
    writer.arg("reduction", reduction_name(reduction_of(record)));
  }
  if (terms.count > 1) return;
  const std::int32_t peer = peer_of(record);
  if (kind == Collective::send) writer.arg("Dst Rank", peer);
  if (kind == Collective::receive) writer.arg("Src Rank", peer);
  if (has_root(kind)) writer.arg("root", peer);
}

}  // namespace

void write_collective(trace::EventWriter& writer, const ring::Ring& ring,
                      const CollectiveTerms& terms) {
  if (terms.first == nullptr) return;
  const Record& record = *terms.first;
  const ring::Communicator* comm = communicator_of(ring, record);
  if (terms.same_operation) write_operation(writer, terms, comm);
  if (comm != nullptr && terms.same_communicator) {
    char name[16];
    char* end = trace::put_unsigned(name, record.extra - 1);
    writer.arg("Process Group Name", std::string_view(name, static_cast<std::size_t>(end - name)));
    const std::uint64_t hash = comm->hash.load(std::memory_order_acquire);
    if (hash != 0) writer.arg("comm hash", Hex{hash});
    if (comm->rank >= 0) writer.arg("comm rank", comm->rank);
  }
  if (terms.count > 1) writer.arg("grouped", terms.count);
}

namespace {

// The kinds that a kernel's name allows, as bits; all where it says nothing: ncclDevKernel_Generic.
std::uint32_t kinds_of_kernel(std::string_view kernel) noexcept {
  const auto bit = [](Collective kind) { return 1u << static_cast<unsigned>(kind); };
  const struct {
    std::string_view name;
    std::uint32_t kinds;
  } known[] = {
      {"AllReduce", bit(Collective::all_reduce)},
      {"AllGather", bit(Collective::all_gather)},
      {"ReduceScatter", bit(Collective::reduce_scatter)},
      {"Reduce", bit(Collective::reduce)},
      {"Broadcast", bit(Collective::broadcast)},
      {"SendRecv", bit(Collective::send) | bit(Collective::receive) | bit(Collective::all_to_all) |
                       bit(Collective::gather) | bit(Collective::scatter)}};
  const std::size_t underscore = kernel.find('_');
  if (underscore == std::string_view::npos) return ~0u;
  kernel.remove_prefix(underscore + 1);
  for (const auto& each : known) {
    if (kernel.starts_with(each.name)) return each.kinds;
  }
  return ~0u;
}

bool is(const Record& record, Function function) noexcept {
  return record.function == static_cast<std::uint16_t>(function);
}

// visit(record) for the collectives of the group that ends with records[end], the latest first.
// False where the group began before the records.
template <class Visit>
bool for_each_in_group(const std::vector<const Record*>& records, std::uint32_t end,
                       Visit&& visit) {
  std::size_t depth = 1;
  for (std::uint32_t i = end; i-- > 0;) {
    const Record& record = *records[i];
    if (is(record, Function::ncclGroupEnd)) ++depth;
    if (is(record, Function::ncclGroupStart) && --depth == 0) return true;
    if (record.layout == Layout::collective) visit(record);
  }
  return false;
}

}  // namespace

bool is_whole_group(const ThreadEvents& thread, std::uint32_t end) noexcept {
  return for_each_in_group(thread.records, end, [](const Record&) {});
}

bool may_carry_out(std::string_view kernel, const Record& collective) noexcept {
  return collective.detail < 32 && (kinds_of_kernel(kernel) >> collective.detail & 1) != 0;
}

std::vector<const Record*> calls_of_kernel(const ThreadEvents& thread, std::uint32_t index,
                                           std::string_view kernel) {
  const Record& call = *thread.records[index];
  if (call.layout == Layout::collective) return {&call};
  if (!is(call, Function::ncclGroupEnd)) return {};
  std::vector<const Record*> all, fitting;
  const bool is_whole = for_each_in_group(thread.records, index, [&](const Record& record) {
    all.push_back(&record);
    if (may_carry_out(kernel, record)) fitting.push_back(&record);
  });
  // Part of a group must not pass for all of it.
  if (!is_whole) return {};
  std::vector<const Record*>& meant = fitting.empty() ? all : fitting;
  std::reverse(meant.begin(), meant.end());
  return std::move(meant);
}

}  // namespace traceagent::drain
