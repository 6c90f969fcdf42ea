#include "agent/device/record_reader.hpp"

#include <bit>
#include <string_view>

#include "agent/device/record_text.hpp"
#include "agent/event/hash.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/device_drops.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::device {

using event::DeviceKind;
using event::DeviceWork;

namespace {

constexpr std::uint64_t context_known = std::uint64_t{1} << 63;
// Salts, so that equal numbers of different kinds are no equal facts.
constexpr std::uint64_t kernel_salt = 1;
constexpr std::uint64_t graph_salt = 2;
constexpr std::uint64_t peer_salt = 3;

void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

std::uint16_t narrow_device(std::uint32_t device) noexcept {
  return device < event::no_device ? static_cast<std::uint16_t>(device) : event::no_device;
}

std::int64_t time_at(const std::byte* record, std::size_t offset) noexcept {
  return load<std::int64_t>(record, offset);
}

std::array<std::int32_t, 3> triple_at(const std::byte* record, std::size_t offset) noexcept {
  return load<std::array<std::int32_t, 3>>(record, offset);
}

// Of the buffer that this thread reads.
constinit thread_local ring::DeviceDrops* this_buffers_drops
    __attribute__((tls_model("initial-exec"))) = nullptr;

// The thread that reads: nothing it does is the job's, and what finds no room is counted by its own
// time (put()).
class Reading {
 public:
  explicit Reading(const ring::Ring& ring) noexcept
      : full_cause_(ring::writer.full_cause), drops_(ring) {
    ++ring::writer.nested_in_start;
    ring::writer.full_cause = ring::not_missed;
    this_buffers_drops = &drops_;
  }
  ~Reading() {
    this_buffers_drops = nullptr;
    ring::writer.full_cause = full_cause_;
    --ring::writer.nested_in_start;
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  ring::DropCause full_cause_;
  ring::DeviceDrops drops_;
};

void count_full(const DeviceWork& work) noexcept {
  this_buffers_drops->count_work(work.end_ns, work.correlation);
}
void count_full(const event::ApiCall& call) noexcept {
  this_buffers_drops->count_call(call.start_ns, call.correlation);
}

template <class Fields>
bool put(const Fields& fields) noexcept {
  event::Record* record = ring::claim(ring::writer);
  if (record == nullptr) {
    count_full(fields);
    return false;
  }
  event::fill(*record, fields);
  const std::uint64_t now = event::read_ticks();
  record->end_ticks.store(now, std::memory_order_relaxed);
  ring::publish(*record, now);
  return true;
}

}  // namespace

RecordReader::RecordReader(ring::Ring ring, std::uint32_t version, NextRecord next,
                           ApiFunctions& functions)
    : ring_(ring), version_(version), next_(next), functions_(functions), texts_(ring) {}

void RecordReader::read(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  const Reading reading(ring_);
  void* record = nullptr;
  while (next_(buffer, valid_bytes, &record) == cupti_result::success) {
    const auto* bytes = static_cast<const std::uint8_t*>(record);
    const bool is_inside = bytes >= buffer && bytes < buffer + valid_bytes;
    const std::size_t left = is_inside ? static_cast<std::size_t>(buffer + valid_bytes - bytes) : 0;
    if (left < sizeof(ActivityKind) ||
        left < bytes_read_of(load<ActivityKind>(reinterpret_cast<const std::byte*>(record), 0))) {
      return count_dropped(buffer, valid_bytes, record, 1);
    }
    read_one(reinterpret_cast<const std::byte*>(record));
  }
}

// Up to the end of the last field that is read of such a record; 0: nothing of it is.
std::size_t RecordReader::bytes_read_of(ActivityKind kind) const noexcept {
  constexpr std::size_t word = sizeof(std::uint32_t), pointer = sizeof(std::uint64_t);
  const auto tail = [this](std::size_t always, std::size_t node, std::size_t graph) {
    if (has(since::graph_id)) return graph + word;
    return has(since::copy_graph_node) ? node + pointer : always;
  };
  switch (kind) {
    case ActivityKind::kernel:
    case ActivityKind::concurrent_kernel:
      if (has(since::cluster)) return kernel_record::cluster + 3 * word;
      return has(since::graph_id) ? kernel_record::graph + word
                                  : kernel_record::graph_node + pointer;
    case ActivityKind::copy:
      return tail(copy_record::correlation + word, copy_record::graph_node, copy_record::graph);
    case ActivityKind::peer_copy:
      return tail(peer_copy_record::correlation + word, peer_copy_record::graph_node,
                  peer_copy_record::graph);
    case ActivityKind::set:
      return tail(set_record::memory_kind + word, set_record::graph_node, set_record::graph);
    case ActivityKind::runtime:
    case ActivityKind::driver:
      return api_record::result + word;
    case ActivityKind::synchronisation:
      return synchronisation_record::stream + word;
    case ActivityKind::memory:
      return memory_record::stream + word;
    case ActivityKind::overhead:
      return has(since::overhead_correlation) ? overhead_record::correlation + word
                                              : overhead_record::end + pointer;
    case ActivityKind::graph:
      return graph_record::stream + word;
    case ActivityKind::stream:
      return stream_record::priority + word;
    case ActivityKind::context:
      return context_record::device + word;
  }
  return 0;
}

void RecordReader::discard(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  count_dropped(buffer, valid_bytes, nullptr, 0);
}

// `records`, and those that come after `last`. Of what is beyond the buffer nothing follows.
void RecordReader::count_dropped(std::uint8_t* buffer, std::size_t valid_bytes, void* last,
                                 std::uint64_t records) noexcept {
  const auto* const end = buffer + valid_bytes;
  const auto is_inside = [&](const void* record) {
    const auto* bytes = static_cast<const std::uint8_t*>(record);
    return record == nullptr || (bytes >= buffer && bytes < end);
  };
  while (is_inside(last) && next_(buffer, valid_bytes, &last) == cupti_result::success) ++records;
  ring_.count_drop(ring::DropCause::device_dropped, records);
}

void RecordReader::read_one(const std::byte* record) noexcept {
  switch (static_cast<ActivityKind>(load<std::uint32_t>(record, 0))) {
    case ActivityKind::kernel:
    case ActivityKind::concurrent_kernel:
      return read_kernel(record);
    case ActivityKind::copy:
      return read_copy(record);
    case ActivityKind::peer_copy:
      return read_peer_copy(record);
    case ActivityKind::set:
      return read_set(record);
    case ActivityKind::runtime:
      return read_api(record, false);
    case ActivityKind::driver:
      return read_api(record, true);
    case ActivityKind::synchronisation:
      return read_synchronisation(record);
    case ActivityKind::memory:
      return read_memory(record);
    case ActivityKind::overhead:
      return read_overhead(record);
    case ActivityKind::graph:
      return read_graph(record);
    case ActivityKind::stream:
      return read_stream(record);
    case ActivityKind::context:
      return read_context(record);
  }
  count(counts_.passed_over);
}

// CUPTI says 0 of work whose times it could not take, and an end before the start has been seen: of
// very many launches at once, when its own buffers on the device are used up.
bool RecordReader::is_untimed(const DeviceWork& work) const noexcept {
  if (work.kind > DeviceKind::set && work.kind != DeviceKind::graph) return false;
  if (work.end_ns == 0) return !unfinished_expected_.load(std::memory_order_acquire);
  return work.start_ns == 0 || work.end_ns < work.start_ns;
}

void RecordReader::write(const DeviceWork& work) noexcept {
  if (is_untimed(work)) return ring_.count_drop(ring::DropCause::device_untimed);
  if (work.start_ns == 0 || work.end_ns == 0) {
    count(counts_.unfinished);
    return;
  }
  if (put(work)) count(counts_.written);
}

void RecordReader::learn_context(std::uint32_t context, std::uint32_t device) noexcept {
  std::atomic<std::uint64_t>& slot = contexts_[context % context_slots];
  const std::uint64_t known = context_known | std::uint64_t{context} << 16 | narrow_device(device);
  if (slot.load(std::memory_order_relaxed) != known) {
    slot.store(known, std::memory_order_relaxed);
    const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
    devices_seen_.fetch_or(bit, std::memory_order_relaxed);
  }
}

std::uint16_t RecordReader::device_of(std::uint32_t context) const noexcept {
  const std::uint64_t known = contexts_[context % context_slots].load(std::memory_order_relaxed);
  const bool is_it = (known & context_known) != 0 && (known & ~context_known) >> 16 == context;
  if (is_it) return static_cast<std::uint16_t>(known);
  const std::uint64_t all = devices_seen() | devices_in_use_.load(std::memory_order_relaxed);
  return std::has_single_bit(all) ? static_cast<std::uint16_t>(std::countr_zero(all))
                                  : event::no_device;
}

void RecordReader::set_shape(std::uint32_t device, const DeviceShape& shape) noexcept {
  if (device >= most_devices || shapes_[device].is_known.load(std::memory_order_relaxed)) return;
  shapes_[device].shape = shape;
  // Pairs with shape_of() in the threads that CUPTI calls back on.
  shapes_[device].is_known.store(true, std::memory_order_release);
}

DeviceShape RecordReader::shape_of(std::uint32_t device) const noexcept {
  if (device >= most_devices || !shapes_[device].is_known.load(std::memory_order_acquire))
    return {};
  return shapes_[device].shape;
}

std::uint32_t RecordReader::kernel_facts(const std::byte* record, std::uint32_t device) noexcept {
  using namespace kernel_record;
  const auto registers_per_thread = load<std::uint16_t>(record, registers);
  const std::int64_t shared = std::int64_t{load<std::int32_t>(record, static_shared)} +
                              load<std::int32_t>(record, dynamic_shared);
  const std::uint32_t graph_id = has(since::graph_id) ? load<std::uint32_t>(record, graph) : 0;
  std::array<std::int32_t, 3> clusters{};
  if (has(since::cluster)) clusters = triple_at(record, cluster);
  // Grid and block lie side by side.
  constexpr std::size_t shape_bytes = block + sizeof clusters - grid;
  const DeviceShape shape = shape_of(device);
  const bool has_occupancy = shape.multiprocessors > 0 && shape.warp_size > 0;
  std::uint64_t key = event::hash_bytes(record + grid, shape_bytes, kernel_salt);
  key = event::combine(
      key, registers_per_thread | std::uint64_t{device} << 16 | std::uint64_t{graph_id} << 32);
  // A device is described after its first kernels.
  key =
      event::combine(key, static_cast<std::uint64_t>(shared) | std::uint64_t{has_occupancy} << 63);
  key = event::hash_bytes(clusters.data(), sizeof clusters, key) | 1;
  return texts_.facts(key, [&](char* buffer) {
    const LaunchShape launch{triple_at(record, grid), triple_at(record, block),
                             registers_per_thread, shared};
    FactsText facts(buffer, TextStore::facts_bytes);
    facts.number("registers per thread", registers_per_thread).number("shared memory", shared);
    if (has_occupancy) {
      const Occupancy reached = occupancy(shape, launch);
      facts.fraction("blocks per SM", reached.blocks_per_sm);
      facts.fraction("warps per SM", reached.warps_per_sm);
      if (reached.percent >= 0) facts.number("est. achieved occupancy %", reached.percent);
    }
    facts.triple("grid", launch.grid).triple("block", launch.block);
    if (clusters[0] > 1 || clusters[1] > 1 || clusters[2] > 1) facts.triple("cluster", clusters);
    if (graph_id != 0) facts.number("graph id", graph_id);
    return facts.size();
  });
}

void RecordReader::read_kernel(const std::byte* record) noexcept {
  using namespace kernel_record;
  const auto device_id = load<std::uint32_t>(record, device);
  const auto context_id = load<std::uint32_t>(record, context);
  learn_context(context_id, device_id);
  write({DeviceKind::kernel, narrow_device(device_id), context_id,
         load<std::uint32_t>(record, stream), texts_.name(load<const char*>(record, name)),
         time_at(record, start), time_at(record, end), load<std::uint32_t>(record, correlation),
         kernel_facts(record, device_id), load<std::uint64_t>(record, graph_node)});
}

std::uint32_t RecordReader::graph_facts(std::uint64_t node, std::uint32_t graph) noexcept {
  if (node == 0 && graph == 0) return 0;
  const std::uint64_t key = event::combine(event::combine(graph_salt, node), graph) | 1;
  return texts_.facts(key, [&](char* buffer) {
    FactsText facts(buffer, TextStore::facts_bytes);
    if (graph != 0) facts.number("graph id", graph);
    facts.number("graph node id", static_cast<std::int64_t>(node));
    return facts.size();
  });
}

void RecordReader::read_copy(const std::byte* record) noexcept {
  using namespace copy_record;
  const auto device_id = load<std::uint32_t>(record, device);
  const auto context_id = load<std::uint32_t>(record, context);
  learn_context(context_id, device_id);
  NameBuffer buffer;
  const std::string_view name =
      copy_name(load<std::uint8_t>(record, copy_kind), load<std::uint8_t>(record, from_kind),
                load<std::uint8_t>(record, to_kind), buffer);
  const std::uint64_t node =
      has(since::copy_graph_node) ? load<std::uint64_t>(record, graph_node) : 0;
  const std::uint32_t graph_id = has(since::graph_id) ? load<std::uint32_t>(record, graph) : 0;
  write({DeviceKind::copy, narrow_device(device_id), context_id,
         load<std::uint32_t>(record, stream), texts_.text(name), time_at(record, start),
         time_at(record, end), load<std::uint32_t>(record, correlation),
         graph_facts(node, graph_id), load<std::uint64_t>(record, bytes)});
}

void RecordReader::read_peer_copy(const std::byte* record) noexcept {
  const auto device_id = load<std::uint32_t>(record, copy_record::device);
  const auto context_id = load<std::uint32_t>(record, copy_record::context);
  learn_context(context_id, device_id);
  NameBuffer buffer;
  const std::string_view name = copy_name(load<std::uint8_t>(record, copy_record::copy_kind),
                                          load<std::uint8_t>(record, copy_record::from_kind),
                                          load<std::uint8_t>(record, copy_record::to_kind), buffer);
  const auto ends = load<std::array<std::uint32_t, 4>>(record, peer_copy_record::from_device);
  const std::uint64_t node =
      has(since::copy_graph_node) ? load<std::uint64_t>(record, peer_copy_record::graph_node) : 0;
  const std::uint64_t key =
      event::combine(event::hash_bytes(ends.data(), sizeof ends, peer_salt), node) | 1;
  const std::uint32_t facts_offset = texts_.facts(key, [&](char* out) {
    FactsText facts(out, TextStore::facts_bytes);
    facts.number("fromDevice", ends[0]).number("fromContext", ends[1]);
    facts.number("toDevice", ends[2]).number("toContext", ends[3]);
    if (node != 0) facts.number("graph node id", static_cast<std::int64_t>(node));
    return facts.size();
  });
  write({DeviceKind::peer_copy, narrow_device(device_id), context_id,
         load<std::uint32_t>(record, copy_record::stream), texts_.text(name),
         time_at(record, copy_record::start), time_at(record, copy_record::end),
         load<std::uint32_t>(record, peer_copy_record::correlation), facts_offset,
         load<std::uint64_t>(record, copy_record::bytes)});
}

void RecordReader::read_set(const std::byte* record) noexcept {
  using namespace set_record;
  const auto device_id = load<std::uint32_t>(record, device);
  const auto context_id = load<std::uint32_t>(record, context);
  learn_context(context_id, device_id);
  NameBuffer buffer;
  const std::string_view name = set_name(load<std::uint16_t>(record, memory_kind), buffer);
  const std::uint64_t node =
      has(since::copy_graph_node) ? load<std::uint64_t>(record, graph_node) : 0;
  const std::uint32_t graph_id = has(since::graph_id) ? load<std::uint32_t>(record, graph) : 0;
  write({DeviceKind::set, narrow_device(device_id), context_id, load<std::uint32_t>(record, stream),
         texts_.text(name), time_at(record, start), time_at(record, end),
         load<std::uint32_t>(record, correlation), graph_facts(node, graph_id),
         load<std::uint64_t>(record, bytes)});
}

void RecordReader::read_api(const std::byte* record, bool is_driver) noexcept {
  using namespace api_record;
  const auto id = load<std::uint32_t>(record, function);
  if (!functions_.is_selected(is_driver, id)) {
    count(counts_.passed_over);
    return;
  }
  const event::ApiCall call{is_driver,
                            load<std::uint32_t>(record, thread),
                            functions_.name(is_driver, id, ring_),
                            load<std::int32_t>(record, result),
                            time_at(record, start),
                            time_at(record, end),
                            load<std::uint32_t>(record, correlation)};
  // A call that still runs when all is flushed has no end.
  if (call.start_ns == 0 || call.end_ns == 0) {
    count(counts_.unfinished);
    return;
  }
  if (put(call)) count(counts_.written);
}

void RecordReader::read_synchronisation(const std::byte* record) noexcept {
  using namespace synchronisation_record;
  const auto context_id = load<std::uint32_t>(record, context);
  write({DeviceKind::synchronise, device_of(context_id), context_id,
         load<std::uint32_t>(record, stream),
         texts_.text(synchronisation_name(load<std::uint32_t>(record, type))),
         time_at(record, start), time_at(record, end), load<std::uint32_t>(record, correlation), 0,
         0});
}

void RecordReader::read_memory(const std::byte* record) noexcept {
  using namespace memory_record;
  NameBuffer buffer;
  const bool is_release = load<std::uint32_t>(record, operation) == 2;
  const std::int64_t at = time_at(record, timestamp);
  write({DeviceKind::memory, narrow_device(load<std::uint32_t>(record, device)),
         load<std::uint32_t>(record, context), load<std::uint32_t>(record, stream),
         texts_.text(memory_name(is_release, load<std::uint32_t>(record, memory_kind), buffer)), at,
         at, load<std::uint32_t>(record, correlation), 0, load<std::uint64_t>(record, bytes)});
}

void RecordReader::read_overhead(const std::byte* record) noexcept {
  using namespace overhead_record;
  constexpr std::uint32_t object_thread = 2;
  const bool is_thread = load<std::uint32_t>(record, object_kind) == object_thread;
  const std::uint32_t id =
      has(since::overhead_correlation) ? load<std::uint32_t>(record, correlation) : 0;
  write({DeviceKind::overhead, event::no_device, 0,
         is_thread ? load<std::uint32_t>(record, thread) : 0,
         texts_.text(overhead_name(load<std::uint32_t>(record, overhead_kind))),
         time_at(record, start), time_at(record, end), id, 0, 0});
}

void RecordReader::read_graph(const std::byte* record) noexcept {
  using namespace graph_record;
  write({DeviceKind::graph, narrow_device(load<std::uint32_t>(record, device)),
         load<std::uint32_t>(record, context), load<std::uint32_t>(record, stream),
         texts_.text("CUDA Graph"), time_at(record, start), time_at(record, end),
         load<std::uint32_t>(record, correlation),
         graph_facts(0, load<std::uint32_t>(record, graph)), 0});
}

void RecordReader::read_context(const std::byte* record) noexcept {
  learn_context(load<std::uint32_t>(record, context_record::context),
                load<std::uint32_t>(record, context_record::device));
}

void RecordReader::read_stream(const std::byte* record) noexcept {
  const std::uint64_t id = std::uint64_t{load<std::uint32_t>(record, stream_record::context)}
                               << 32 |
                           load<std::uint32_t>(record, stream_record::stream);
  const std::uint32_t slot = stream_count_.fetch_add(1, std::memory_order_relaxed);
  if (slot >= stream_slots) return;
  streams_[slot].priority.store(load<std::int32_t>(record, stream_record::priority),
                                std::memory_order_relaxed);
  streams_[slot].id.store(id, std::memory_order_release);
}

std::string RecordReader::streams_json() const {
  // Far below what the ring keeps of a text: each new stream writes all of it again.
  constexpr std::size_t most_bytes = 4000;
  std::string json;
  for (const Stream& stream : streams_) {
    const std::uint64_t id = stream.id.load(std::memory_order_acquire);
    const std::uint16_t device = device_of(static_cast<std::uint32_t>(id >> 32));
    if (id == 0 || device == event::no_device) continue;
    std::string entry = json.empty() ? "{" : ", ";
    entry += '"' + std::to_string(device) + '/' + std::to_string(id >> 32) + '/' +
             std::to_string(static_cast<std::uint32_t>(id)) + "\": {\"priority\": " +
             std::to_string(stream.priority.load(std::memory_order_relaxed)) + '}';
    if (json.size() + entry.size() + 1 > most_bytes) break;
    json += entry;
  }
  return json.empty() ? json : json + '}';
}

}  // namespace traceagent::device
