#include "tests/sim/truth/reader.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "tests/sim/cuda/functions.hpp"
#include "tests/sim/cudart/functions.hpp"
#include "tests/sim/engine/record.hpp"
#include "tests/sim/nccl/functions.hpp"

namespace simgpu {
namespace {

using Names = std::map<std::uint32_t, std::string>;

std::string escaped(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

class Object {
 public:
  Object& text(const char* key, const std::string& value) { return raw(key, escaped(value)); }
  template <class Number>
  Object& number(const char* key, Number value) {
    return raw(key, std::to_string(value));
  }
  Object& raw(const char* key, const std::string& value) {
    json_ += json_.empty() ? "{\"" : ",\"";
    json_ += std::string(key) + "\":" + value;
    return *this;
  }
  std::string close() const { return json_ + "}"; }

 private:
  std::string json_;
};

std::string triple(const std::uint32_t (&value)[3]) {
  return "[" + std::to_string(value[0]) + "," + std::to_string(value[1]) + "," +
         std::to_string(value[2]) + "]";
}

std::string function_of(const Record& record) {
  if (record.library == Library::nccl) {
    return nccl::function_name(record.function);
  }
  const std::string name = record.library == Library::cuda ? cuda::function_name(record.function)
                                                           : cudart::function_name(record.function);
  if (record.variant == Variant::per_thread_stream) {
    return name + "_ptsz";
  }
  return record.variant == Variant::per_thread_default ? name + "_ptds" : name;
}

const char* library_name(Library library) {
  if (library == Library::cuda) {
    return "cuda";
  }
  return library == Library::nccl ? "nccl" : "cudart";
}

const char* work_name(WorkKind kind) {
  switch (kind) {
    case WorkKind::kernel:
      return "kernel";
    case WorkKind::copy:
      return "copy";
    case WorkKind::set:
      return "set";
    case WorkKind::collective:
      return "collective";
    case WorkKind::host:
      return "host";
    case WorkKind::marker:
    case WorkKind::none:
      return "none";
  }
  return "none";
}

void add_collective(const Record& record, Object& object) {
  object.number("comm", record.comm_hash)
      .number("comm_rank", record.comm_rank)
      .number("comm_size", record.comm_size)
      .number("seq", record.comm_seq)
      .number("dtype", record.dtype)
      .number("op", record.op)
      .number("peer", record.peer)
      .number("count", record.count);
}

const char* cupti_state(CuptiState state) {
  constexpr const char* names[] = {"off",        "pending", "delivered", "dropped",
                                   "incomplete", "lost",    "untimed"};
  return names[static_cast<std::size_t>(state)];
}

void add_device(const Record& record, Object& object) {
  if (record.comm_size != 0) {
    object.text("function", nccl::function_name(record.function));
  }
  object.text("cupti", cupti_state(record.cupti.load()))
      .number("correlation", record.correlation)
      .number("context", record.context)
      .number("cupti_stream", record.stream_id)
      .number("kernel_end_ns", record.kernel_end_ns)
      .number("part", record.part)
      .number("launch_number", record.launch_number)
      .number("launch_begin_ns", record.launch_begin_ns)
      .number("graph_id", record.graph)
      .number("graph_node_id", record.graph_node)
      .number("registers", record.registers)
      .raw("cluster", triple(record.cluster));
}

void add_name(const Record& record, const Names& names, Object& object) {
  if (const auto found = names.find(record.name); found != names.end()) {
    object.text("name", demangled(found->second)).text("symbol", found->second);
  }
}

void add_launch(const Record& record, const Names& names, Object& object) {
  add_name(record, names, object);
  object.raw("grid", triple(record.grid))
      .raw("block", triple(record.block))
      .number("shared_bytes", record.shared_bytes);
}

void add_work(const Record& record, Object& object) {
  object.number("stream", record.stream)
      .number("stream_id", record.stream_id)
      .number("device", record.device)
      .number("bytes", record.bytes)
      .number("address", record.address)
      .number("copy_kind", record.copy_kind);
}

// When a kind was enabled, or what one libcupti did in all.
std::string to_json(const TruthHeader& header, const CuptiRecord& record) {
  Object object;
  const bool period = record.kind == RecordKind::enabled;
  object.text("kind", period ? "cupti_enabled" : "cupti");
  object.number("pid", header.pid).number("rank", header.rank).number("major", record.major);
  if (period) {
    object.number("activity", record.activity);
    object.number("begin_ns", record.begin_ns).number("end_ns", record.end_ns);
    return object.close();
  }
  return object.number("delivered", record.delivered.load())
      .number("dropped", record.dropped.load())
      .number("dropped_work", record.dropped_work.load())
      .number("lost", record.lost.load())
      .number("incomplete", record.incomplete.load())
      .number("buffers_requested", record.buffers_requested.load())
      .number("buffers_refused", record.buffers_refused.load())
      .number("buffers_completed", record.buffers_completed.load())
      .number("buffers_dropped", record.buffers_dropped.load())
      .number("subscriptions", record.subscriptions.load())
      .number("refusals", record.refusals.load())
      .close();
}

std::string to_json(const TruthHeader& header, const Record& record, const Names& names) {
  Object object;
  const bool open = record.state.load() == RecordState::open;
  switch (record.kind) {
    case RecordKind::call:
      object.text("kind", record.inside != 0 ? "inner" : "call");
      object.text("function", function_of(record));
      object.text("library", library_name(record.library));
      object.number("cudart_major", record.cudart_major).number("result", record.result);
      break;
    case RecordKind::device:
      object.text("kind", "device").text("work", work_name(record.work));
      add_device(record, object);
      break;
    default:
      object.text("kind", "mark").number("count", record.count);
      add_name(record, names, object);
      break;
  }
  object.number("pid", header.pid).number("rank", header.rank).number("tid", record.tid);
  object.number("number", record.number);
  if (record.inside != 0) {
    object.number("inside", record.inside);
  }
  object.number("begin_ns", record.begin_ns).number("end_ns", record.end_ns);
  object.raw("open", open ? "true" : "false");
  if (record.kind != RecordKind::mark) {
    add_work(record, object);
    const bool collective = record.comm_size != 0;
    if (collective) {
      add_collective(record, object);
    }
    if (record.grid[0] != 0 || (record.name != no_name && !collective)) {
      add_launch(record, names, object);
    } else if (!collective) {
      object.number("count", record.count).number("peer", record.peer);
    }
  }
  return object.close();
}

std::vector<char> load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read: " + path);
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

void read_truth(const std::string& path, std::vector<Line>& lines) {
  const std::vector<char> bytes = load(path);
  const auto* header = reinterpret_cast<const TruthHeader*>(bytes.data());
  if (bytes.size() < sizeof(TruthHeader) || header->magic != truth_magic) {
    throw std::runtime_error("not a truth file: " + path);
  }
  if (header->version != truth_version || header->record_bytes != sizeof(Record)) {
    throw std::runtime_error("truth file of version " + std::to_string(header->version) +
                             ", wanted " + std::to_string(truth_version) + ": " + path);
  }
  const std::uint64_t stored = (bytes.size() - sizeof(TruthHeader)) / sizeof(Record);
  const std::uint64_t count = std::min<std::uint64_t>(header->claimed.load(), stored);
  const char* first = bytes.data() + sizeof(TruthHeader);
  Names names;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto& record = *reinterpret_cast<const NameRecord*>(first + i * sizeof(Record));
    if (record.kind == RecordKind::name && record.state.load() == RecordState::closed) {
      names[record.name].append(record.text, record.length);
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto& record = *reinterpret_cast<const Record*>(first + i * sizeof(Record));
    if (record.state.load() == RecordState::empty || record.kind == RecordKind::name) {
      continue;
    }
    if (record.kind == RecordKind::enabled || record.kind == RecordKind::cupti) {
      const auto& cupti = reinterpret_cast<const CuptiRecord&>(record);
      lines.push_back({cupti.begin_ns, to_json(*header, cupti)});
    } else {
      lines.push_back({record.begin_ns, to_json(*header, record, names)});
    }
  }
}

}  // namespace simgpu
