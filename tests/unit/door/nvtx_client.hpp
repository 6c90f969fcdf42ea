#pragma once
// A client of NVTX whose tool is the door, and what it records.

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>

#include "agent/door/nvtx.hpp"
#include "agent/door/range_stack.hpp"
#include "agent/door/resource_names.hpp"
#include "tests/unit/door/recording.hpp"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table);

namespace traceagent::door {

// Its tables of function pointers, as the injected library gets to see them.
struct Client {
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE_SIZE> core{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE2_SIZE> domains{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CUDA_SIZE> cuda{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CUDART_SIZE> cudart{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CUDA_SIZE + 1> cuda_table{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CUDART_SIZE + 1> cudart_table{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE_SIZE + 1> core_table{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE2_SIZE + 1> domain_table{};
};
inline Client client;

inline int module_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  if (module == NVTX_CB_MODULE_CORE) {
    *table = client.core_table.data();
    *size = NVTX_CBID_CORE_SIZE;
    return 1;
  }
  if (module == NVTX_CB_MODULE_CUDA) {
    *table = client.cuda_table.data();
    *size = NVTX_CBID_CUDA_SIZE;
    return 1;
  }
  if (module == NVTX_CB_MODULE_CUDART) {
    *table = client.cudart_table.data();
    *size = NVTX_CBID_CUDART_SIZE;
    return 1;
  }
  if (module != NVTX_CB_MODULE_CORE2) return 0;
  *table = client.domain_table.data();
  *size = NVTX_CBID_CORE2_SIZE;
  return 1;
}

inline const void* export_table(std::uint32_t id) {
  static const NvtxExportTableCallbacks callbacks = {sizeof(NvtxExportTableCallbacks),
                                                     module_table};
  return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
}

template <class Signature>
Signature* core(unsigned id) {
  return reinterpret_cast<Signature*>(client.core[id]);
}
template <class Signature>
Signature* domains(unsigned id) {
  return reinterpret_cast<Signature*>(client.domains[id]);
}

class NvtxTest : public testing::Test {
 protected:
  NvtxTest() {
    for (std::size_t i = 1; i < client.core.size(); ++i) client.core_table[i] = &client.core[i];
    for (std::size_t i = 1; i < client.domains.size(); ++i) {
      client.domain_table[i] = &client.domains[i];
    }
    for (std::size_t i = 1; i < client.cuda.size(); ++i) client.cuda_table[i] = &client.cuda[i];
    for (std::size_t i = 1; i < client.cudart.size(); ++i) {
      client.cudart_table[i] = &client.cudart[i];
    }
    open_nvtx_door(true);
    own_pushes_unfollowed = false;  // of the tests before, in this thread
    EXPECT_EQ(InitializeInjectionNvtx2(export_table), 1);
  }
  ~NvtxTest() override {
    for (const ring::NamedPlace& place : recording.ring().header().named_resources) {
      if (const auto name = place.load()) name_resource(name->kind, name->handle, "");
    }
    open_nvtx_door(false);
  }

  int push(const char* name) { return core<int(const char*)>(NVTX_CBID_CORE_RangePushA)(name); }
  int pop() { return core<int()>(NVTX_CBID_CORE_RangePop)(); }
  std::string name_of(const event::Record& record) {
    return std::string(recording.ring().name(record.extra));
  }
  Recording recording;
};

}  // namespace traceagent::door
