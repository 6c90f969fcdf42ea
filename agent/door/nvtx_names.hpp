#pragma once
// NVTX's names of streams, devices, contexts and threads.

#include <nvtx3/nvToolsExt.h>

namespace traceagent::door {

// An older client has a shorter table.
template <class Function>
void install(NvtxFunctionTable table, unsigned size, unsigned id, Function function) noexcept {
  if (id < size && table[id] != nullptr) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
}

// Into those of the client's tables that it has.
void install_resource_names(const NvtxExportTableCallbacks& client) noexcept;

}  // namespace traceagent::door
