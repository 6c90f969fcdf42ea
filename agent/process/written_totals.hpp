#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/ring/layout.hpp"

namespace traceagent::process {

// Of all rank files that this process has written, those that are gone too.
struct WrittenTotals {
  std::uint64_t files = 0;
  std::uint64_t events = 0;
  ring::DropCounts dropped{};

  // As ring::dropped_in() counts what the file's window has lost.
  void add_file(std::uint64_t events_written, const ring::DropCounts& of_window) noexcept {
    ++files;
    events += events_written;
    for (std::size_t i = 0; i < dropped.size(); ++i) {
      dropped[i] = ring::counts_all_so_far(static_cast<ring::DropCause>(i))
                       ? std::max(dropped[i], of_window[i])
                       : dropped[i] + of_window[i];
    }
  }
};

}  // namespace traceagent::process
