#pragma once

namespace traceagent::process {

// The variable by which the library's constructor could not make itself known,
// NVTX_INJECTION64_PATH for example; null: there is none.
const char* variable_not_set() noexcept;

}  // namespace traceagent::process
