#pragma once
// The ring of a process that died: calls, ranges, collectives, device work and counters of every
// layout.

#include <string>

namespace traceagent::fuzz {

// The names at the beginning, which say whose ring it is and where its files go.
inline constexpr std::size_t identity_names_bytes = 1024;

// Its bytes; its files go into `folder`.
std::string sample_ring(const std::string& folder);

}  // namespace traceagent::fuzz
