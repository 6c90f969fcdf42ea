#pragma once

namespace traceagent::tools {

// A merge of many files has two descriptors for each: as many may be open as the user may ask for,
// not as a shell allows at first.
void allow_many_open_files() noexcept;

}  // namespace traceagent::tools
