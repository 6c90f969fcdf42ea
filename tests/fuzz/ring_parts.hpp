#pragma once
// Where a ring's fields lie, by numbers that stay when its layout changes: what was found in one is
// of use in the next.

#include <array>
#include <cstddef>

#include "agent/ring/layout.hpp"

namespace traceagent::fuzz {

struct Part {
  std::size_t begin, end;
};

inline constexpr std::size_t part_count = 16;

// The seeds have these numbers: a part's stays. The last is what comes of the chunks.
inline std::array<Part, part_count> parts_of(const ring::Header& header) {
  using ring::Header;
  const std::size_t chunks = header.chunks_offset;
  return {{
      {0, offsetof(Header, identity)},
      {offsetof(Header, identity), offsetof(Header, names_used)},
      {offsetof(Header, names_used), offsetof(Header, anchors)},
      {offsetof(Header, anchors), offsetof(Header, window_count)},
      {offsetof(Header, window_count), offsetof(Header, windows)},
      {offsetof(Header, windows), offsetof(Header, step_count)},
      {offsetof(Header, step_count), offsetof(Header, steps)},
      {offsetof(Header, steps), offsetof(Header, device)},
      {offsetof(Header, device), offsetof(Header, communicator_count)},
      {offsetof(Header, communicator_count), offsetof(Header, communicators)},
      {offsetof(Header, communicators), offsetof(Header, named_resources)},
      {offsetof(Header, named_resources), offsetof(Header, governor)},
      {offsetof(Header, governor), offsetof(Header, last_correlation)},
      {offsetof(Header, last_correlation), sizeof(Header)},
      {header.names_offset, chunks},
      {chunks, header.file_bytes},
  }};
}

}  // namespace traceagent::fuzz
