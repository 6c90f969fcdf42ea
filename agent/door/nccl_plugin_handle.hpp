#pragma once
// What we give NCCL for an event and get back at its end, or as the parent of another: a number in
// a pointer's place, so that nothing is allocated. NCCL never looks into it; it is in an address
// range that no pointer can have, so that a user's own plugin's handles are told from ours.

#include <cstdint>

#include "agent/event/record.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door::nccl_plugin {

enum class HandleKind : std::uint64_t {
  nothing,  // an event that is not recorded: NCCL 2.23 to 2.27 start no others without their group
  call,     // of the program, on the thread that made it: ring::correlation_of() of its record
  record,   // in the ring
};

inline constexpr std::uint64_t handle_tag = 0xa7;  // bits 56..63
inline constexpr std::uint64_t value_bits = 54;

inline std::uint64_t number_of(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline bool is_own(const void* handle) noexcept { return number_of(handle) >> 56 == handle_tag; }
inline HandleKind kind_of(const void* handle) noexcept {
  return static_cast<HandleKind>(number_of(handle) >> value_bits & 3);
}
inline std::uint64_t value_of(const void* handle) noexcept {
  return number_of(handle) & ((std::uint64_t{1} << value_bits) - 1);
}
inline void* make_handle(HandleKind kind, std::uint64_t value) noexcept {
  const std::uint64_t low = value & ((std::uint64_t{1} << value_bits) - 1);
  return reinterpret_cast<void*>(handle_tag << 56 | static_cast<std::uint64_t>(kind) << value_bits |
                                 low);
}

void* handle_of(const ring::Ring& ring, const event::Record& record) noexcept;
// nullptr when the record's chunk has been given to somebody else meanwhile, or the ring.
event::Record* record_of(const ring::Ring& ring, const void* handle) noexcept;

}  // namespace traceagent::door::nccl_plugin
