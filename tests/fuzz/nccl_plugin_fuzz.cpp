// Any descriptions of events to the profiler plugin, of every version of the interface. Pointers
// lead to a text, to a handle that the plugin gave, or to nothing, as NCCL's do.
#include <array>
#include <string>
#include <vector>

#include "agent/door/nccl_plugin.hpp"
#include "agent/door/nccl_plugin_layouts.hpp"
#include "agent/door/nccl_plugin_mask.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/unit/door/recording.hpp"

namespace {

using namespace traceagent;
using namespace traceagent::door::nccl_plugin;

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

struct Session {
  Table* table = nullptr;
  int version = 0;
  void* context = nullptr;
  std::vector<void*> handles = {nullptr};
  std::vector<std::string> texts;
};

void* init(Session& session, fuzz::Input& input) {
  static int mask = 0;  // NCCL's is one for as long as it is loaded
  const auto id = input.number<std::uint64_t>();
  const int nodes = input.number<std::int8_t>(), ranks = input.number<std::int8_t>();
  const int rank = input.number<std::int8_t>();
  if (session.version <= 3) {
    reinterpret_cast<Init1>(session.table->init)(&session.context, &mask);
  } else if (session.version == 4) {
    reinterpret_cast<Init4>(session.table->init)(&session.context, &mask, "name", id, nodes, ranks,
                                                 rank, nullptr);
  } else {
    reinterpret_cast<Init5>(session.table->init)(&session.context, id, &mask, "name", nodes, ranks,
                                                 rank, nullptr);
  }
  return session.context;
}

const char* text(Session& session, fuzz::Input& input) {
  static constexpr const char* known[] = {nullptr, "AllReduce", "Send",   "ncclFloat32", "RING",
                                          "LL128", "Unknown",   "SIMPLE", "Recv",        ""};
  const std::uint8_t choice = input.number<std::uint8_t>();
  if (choice < std::size(known)) return known[choice];
  session.texts.emplace_back(input.take(choice));
  return session.texts.back().c_str();
}

void* handle(Session& session, fuzz::Input& input) {
  return session.handles[input.number<std::uint8_t>() % session.handles.size()];
}

// Where in the details of a type the interface has pointers that are followed.
struct Pointers {
  std::vector<std::size_t> texts, handles;
};
Pointers pointers_of(int version, std::uint32_t type) {
  if (type == collective_event) {
    if (version == 1) return {{offsetof(Collective1, comm_name)}, {}};
    if (version == 2) {
      return {{offsetof(Collective2, comm_name), offsetof(Collective2, function),
               offsetof(Collective2, datatype), offsetof(Collective2, algorithm),
               offsetof(Collective2, protocol)},
              {}};
    }
    if (version == 3) {
      return {{offsetof(Collective3, comm_name), offsetof(Collective3, function),
               offsetof(Collective3, datatype), offsetof(Collective3, algorithm),
               offsetof(Collective3, protocol)},
              {}};
    }
    return {{offsetof(Collective4, function), offsetof(Collective4, datatype),
             offsetof(Collective4, algorithm), offsetof(Collective4, protocol)},
            {offsetof(Collective4, group)}};
  }
  if (type == point_to_point_event) {
    if (version == 1) return {{offsetof(PointToPoint1, comm_name)}, {}};
    if (version <= 3) {
      return {{offsetof(PointToPoint2, comm_name), offsetof(PointToPoint2, function),
               offsetof(PointToPoint2, datatype)},
              {}};
    }
    return {{offsetof(PointToPoint4, function), offsetof(PointToPoint4, datatype)},
            {offsetof(PointToPoint4, group)}};
  }
  if (type == copy_engine_event) {
    return {{offsetof(CopyEngine, function), offsetof(CopyEngine, datatype),
             offsetof(CopyEngine, synchronisation)},
            {}};
  }
  // The API's calls of versions 5 and 6: a function's name where a sequence number is elsewhere.
  return {{0, 8}, {}};
}

void start(Session& session, fuzz::Input& input) {
  alignas(8) std::array<std::uint8_t, 256> description{};
  const std::uint32_t type = 1u << (input.number<std::uint8_t>() % 14);
  const auto put = [&](std::size_t at, const void* pointer) {
    std::memcpy(description.data() + at, &pointer, sizeof pointer);
  };
  const std::string_view details = input.take(input.number<std::uint8_t>() % 160);
  std::memcpy(description.data() + details_offset, details.data(), details.size());
  std::memcpy(description.data(), &type, sizeof type);
  put(offsetof(Head, parent), handle(session, input));
  const int rank = input.number<std::int8_t>();
  std::memcpy(description.data() + offsetof(Head, rank), &rank, sizeof rank);
  const Pointers pointers = pointers_of(session.version, type);
  for (const std::size_t at : pointers.texts) put(details_offset + at, text(session, input));
  for (const std::size_t at : pointers.handles) put(details_offset + at, handle(session, input));
  void* given = nullptr;
  if (session.table->start(session.context, &given, description.data()) != 0) {
    fuzz::fail("an error was returned into NCCL");
  }
  if (session.handles.size() < 200) session.handles.push_back(given);
}

void do_next(Session& session, fuzz::Input& input) {
  switch (input.number<std::uint8_t>() % 5) {
    case 0:
      if (session.table->stop(handle(session, input)) != 0) fuzz::fail("an error from stop");
      return;
    case 1: {
      std::uint64_t arguments = input.number<std::uint64_t>();
      const int state = input.number<std::int8_t>();
      session.table->record(handle(session, input), state, &arguments);
      return;
    }
    default:
      start(session, input);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  door::Recording recording(512 * 1024);
  door::ask_nccl_for({true, true, true});
  static Table* const tables[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
                                  &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
  Session session;
  session.version = 1 + input.number<std::uint8_t>() % 6;
  session.table = tables[session.version - 1];
  session.texts.reserve(1024);
  init(session, input);
  for (int i = 0; i < 400 && !input.empty() && session.texts.size() < 1000; ++i) {
    do_next(session, input);
  }
  session.table->finalize(session.context);
  return 0;
}
