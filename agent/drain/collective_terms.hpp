#pragma once
// NCCL's terms as PyTorch's traces say them (Kineto's collective args, PARAM's dtype names).

#include <cstdint>

#include "agent/event/record.hpp"

namespace traceagent::drain {

struct MessageElements {
  std::uint64_t in;   // elements that one rank puts in
  std::uint64_t out;  // elements that one rank gets
};

// `count` as the NCCL function takes it: per rank for gathers, scatters and all-to-all.
MessageElements message_elements(event::Collective kind, std::uint64_t count,
                                 std::uint64_t ranks) noexcept;

const char* collective_name(event::Collective kind) noexcept;
bool has_root(event::Collective kind) noexcept;

// By ncclDataType_t and ncclRedOp_t (nccl.h 2.28); "unknown" and 0 for later ones.
const char* datatype_name(unsigned datatype) noexcept;
std::uint64_t datatype_bytes(unsigned datatype) noexcept;
const char* reduction_name(unsigned reduction) noexcept;

}  // namespace traceagent::drain
