#include "agent/door/nvtx_names.hpp"

#include <cstdint>
#include <string_view>

#include "agent/door/nvtx_text.hpp"
#include "agent/door/resource_names.hpp"

namespace traceagent::door {
namespace {

using ring::Named;

// In NVTX's headers for CUDA, which need CUDA's.
namespace resource_type {
constexpr std::int32_t cuda = 4 << 16;
constexpr std::int32_t cudart = 5 << 16;
constexpr std::int32_t cuda_device = cuda | 1;
constexpr std::int32_t cuda_context = cuda | 2;
constexpr std::int32_t cuda_stream = cuda | 3;
constexpr std::int32_t cudart_device = cudart | 0;
constexpr std::int32_t cudart_stream = cudart | 1;
}  // namespace resource_type

std::uint64_t number_of(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}
std::uint64_t number_of(int device) noexcept { return static_cast<std::uint32_t>(device); }
std::uint64_t number_of(std::uint32_t thread) noexcept { return thread; }

// One function for each of NVTX's, with its signature.
template <Named kind, class Handle>
void name_ascii(Handle handle, const char* name) {
  name_resource(kind, number_of(handle), name != nullptr ? name : "");
}
template <Named kind, class Handle>
void name_wide(Handle handle, const wchar_t* name) {
  char storage[256];
  name_resource(kind, number_of(handle), narrow(name, storage));
}

template <Named kind, class Handle>
void install_pair(NvtxFunctionTable table, unsigned size, unsigned ascii, unsigned wide) noexcept {
  install(table, size, ascii, name_ascii<kind, Handle>);
  install(table, size, wide, name_wide<kind, Handle>);
}

Named kind_of(std::int32_t type) noexcept {
  switch (type) {
    case resource_type::cuda_stream:
    case resource_type::cudart_stream:
      return Named::stream;
    case resource_type::cuda_device:
    case resource_type::cudart_device:
      return Named::device;
    case resource_type::cuda_context:
      return Named::context;
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE:
      return Named::thread;
    default:
      return Named::nothing;
  }
}

// Numbers lie in the union's first bytes, as the type has them.
std::uint64_t identifier_of(Named kind, const nvtxResourceAttributes_t& attributes) noexcept {
  const std::uint64_t identifier = attributes.identifier.ullValue;
  return kind == Named::stream || kind == Named::context ? identifier : identifier & UINT32_MAX;
}

std::string_view text_of(const nvtxResourceAttributes_t& attributes,
                         char (&storage)[256]) noexcept {
  switch (attributes.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes.message.ascii != nullptr ? attributes.message.ascii : "";
    case NVTX_MESSAGE_TYPE_UNICODE:
      return narrow(attributes.message.unicode, storage);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return registered_text(attributes.message.registered);
    default:
      return {};
  }
}

// The handle is what NVTX answers where no tool is attached. Its end takes no name away: it is the
// end of the description, while the stream may run on.
nvtxResourceHandle_t create_resource(nvtxDomainHandle_t, nvtxResourceAttributes_t* attributes) {
  if (attributes == nullptr || attributes->size < sizeof *attributes) return nullptr;
  char storage[256];
  const Named kind = kind_of(attributes->identifierType);
  const std::string_view text = text_of(*attributes, storage);
  if (kind != Named::nothing && !text.empty()) {
    name_resource(kind, identifier_of(kind, *attributes), text);
  }
  return nullptr;
}

}  // namespace

void install_resource_names(const NvtxExportTableCallbacks& client) noexcept {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (client.GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 0) {
    install_pair<Named::thread, std::uint32_t>(table, size, NVTX_CBID_CORE_NameOsThreadA,
                                               NVTX_CBID_CORE_NameOsThreadW);
  }
  if (client.GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) != 0) {
    install(table, size, NVTX_CBID_CORE2_DomainResourceCreate, create_resource);
  }
  if (client.GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &table, &size) != 0) {
    install_pair<Named::device, int>(table, size, NVTX_CBID_CUDA_NameCuDeviceA,
                                     NVTX_CBID_CUDA_NameCuDeviceW);
    install_pair<Named::context, const void*>(table, size, NVTX_CBID_CUDA_NameCuContextA,
                                              NVTX_CBID_CUDA_NameCuContextW);
    install_pair<Named::stream, const void*>(table, size, NVTX_CBID_CUDA_NameCuStreamA,
                                             NVTX_CBID_CUDA_NameCuStreamW);
  }
  if (client.GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &size) != 0) {
    install_pair<Named::device, int>(table, size, NVTX_CBID_CUDART_NameCudaDeviceA,
                                     NVTX_CBID_CUDART_NameCudaDeviceW);
    install_pair<Named::stream, const void*>(table, size, NVTX_CBID_CUDART_NameCudaStreamA,
                                             NVTX_CBID_CUDART_NameCudaStreamW);
  }
}

}  // namespace traceagent::door
