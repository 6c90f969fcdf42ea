#include "agent/drain/collective_terms.hpp"

#include <iterator>

namespace traceagent::drain {

using event::Collective;

MessageElements message_elements(Collective kind, std::uint64_t count,
                                 std::uint64_t ranks) noexcept {
  switch (kind) {
    case Collective::all_gather:
    case Collective::gather:
      return {count, count * ranks};
    case Collective::reduce_scatter:
    case Collective::scatter:
      return {count * ranks, count};
    case Collective::all_to_all:
      return {count * ranks, count * ranks};
    default:
      return {count, count};
  }
}

const char* collective_name(Collective kind) noexcept {
  static constexpr const char* names[] = {"allreduce",
                                          "reduce",
                                          "broadcast",
                                          "_reduce_scatter_base",
                                          "_allgather_base",
                                          "alltoall",
                                          "gather",
                                          "scatter",
                                          "send",
                                          "recv"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(names) ? names[index] : "unknown";
}

bool has_root(Collective kind) noexcept {
  return kind == Collective::reduce || kind == Collective::broadcast ||
         kind == Collective::gather || kind == Collective::scatter;
}

namespace {

struct Datatype {
  const char* name;
  std::uint64_t bytes;
};
// In ncclDataType_t's order.
constexpr Datatype datatypes[] = {{"Char", 1},     {"Byte", 1},          {"Int", 4},
                                  {"UInt32", 4},   {"Long", 8},          {"UInt64", 8},
                                  {"Half", 2},     {"Float", 4},         {"Double", 8},
                                  {"BFloat16", 2}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
constexpr const char* reductions[] = {"sum", "prod", "max", "min", "avg"};

}  // namespace

const char* datatype_name(unsigned datatype) noexcept {
  return datatype < std::size(datatypes) ? datatypes[datatype].name : "unknown";
}

std::uint64_t datatype_bytes(unsigned datatype) noexcept {
  return datatype < std::size(datatypes) ? datatypes[datatype].bytes : 0;
}

const char* reduction_name(unsigned reduction) noexcept {
  return reduction < std::size(reductions) ? reductions[reduction] : "user";
}

}  // namespace traceagent::drain
