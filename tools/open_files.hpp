#pragma once

#include <cstddef>

namespace traceagent::tools {

// A merge of many files has two descriptors for each: as many may be open as the user may ask for,
// not as a shell allows at first.
void allow_many_open_files() noexcept;

// For so many at a time, before there are other threads: where those share it, the table of the
// process's descriptors grows only once every CPU has been through the kernel's scheduler, 10 ms.
void make_room_for_open_files(std::size_t files) noexcept;

}  // namespace traceagent::tools
