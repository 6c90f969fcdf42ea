#include "tests/sim/cupti/host_entries.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "tests/sim/cupti/timestamps.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti {
namespace {

std::atomic<int> id_type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

std::uint32_t pid() { return static_cast<std::uint32_t>(getpid()); }

// By default CUPTI's thread ids are what pthread_self says, cut to 32 bits.
std::uint32_t id_of_thread(std::uint32_t tid) {
  return thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
             ? tid
             : static_cast<std::uint32_t>(pthread_self());
}

CUpti_ActivitySynchronizationType wait_type(std::string_view function) {
  if (function == "cudaStreamSynchronize" || function == "cuStreamSynchronize") {
    return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  }
  if (function == "cudaDeviceSynchronize" || function == "cuCtxSynchronize") {
    return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  }
  if (function == "cudaEventSynchronize" || function == "cuEventSynchronize") {
    return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
  }
  if (function == "cudaStreamWaitEvent" || function == "cuStreamWaitEvent") {
    return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  }
  return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
}

CUpti_ActivityMemoryKind memory_kind(std::string_view function) {
  if (function == "cudaMalloc" || function == "cudaFree" || function == "cudaMallocAsync" ||
      function == "cudaFreeAsync") {
    return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
  if (function == "cudaMallocHost" || function == "cudaHostAlloc" || function == "cudaFreeHost") {
    return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  }
  return function == "cudaMallocManaged" ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
                                         : CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
}

}  // namespace

void set_thread_id_type(CUpti_ActivityThreadIdType type) { id_type.store(type); }

CUpti_ActivityThreadIdType thread_id_type() {
  return static_cast<CUpti_ActivityThreadIdType>(id_type.load());
}

Entry api_entry(const activity::Api& api, std::uint32_t cbid) {
  CUpti_ActivityAPI record{};
  record.kind = api.domain == activity::Domain::driver ? CUPTI_ACTIVITY_KIND_DRIVER
                                                       : CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = cbid;
  record.start = told_ns(api.begin_ns);
  record.end = told_ns(api.end_ns);
  record.processId = pid();
  record.threadId = id_of_thread(api.tid);
  record.correlationId = api.correlation;
  record.returnValue = static_cast<std::uint32_t>(api.result);
  return entry_of(record, record.kind);
}

Entry external_entry(CUpti_ExternalCorrelationKind kind, std::uint64_t id,
                     std::uint32_t correlation) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation;
  return entry_of(record, record.kind);
}

std::optional<Entry> synchronization_entry(const activity::Api& api, std::uint32_t context) {
  const auto type = wait_type(api.function);
  if (type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN) {
    return std::nullopt;
  }
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.start = told_ns(api.begin_ns);
  record.end = told_ns(api.end_ns);
  record.correlationId = api.correlation;
  record.contextId = context;
  const bool of_stream = type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE ||
                         type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  record.streamId = of_stream && api.arguments != nullptr
                        ? static_cast<std::uint32_t>(api.arguments->stream_id)
                        : static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  record.cudaEventId = static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  record.returnValue = static_cast<std::uint32_t>(api.result);
  return entry_of(record, record.kind);
}

std::optional<Entry> memory_entry(const activity::Api& api, std::uint32_t device,
                                  std::uint32_t context) {
  const std::string_view function = api.function;
  const auto kind = memory_kind(function);
  if (kind == CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN || api.arguments == nullptr || api.result != 0) {
    return std::nullopt;
  }
  const bool releases = function.starts_with("cudaFree");
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = releases ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                        : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = kind;
  record.correlationId = api.correlation;
  record.address = api.arguments->address;
  record.bytes = api.arguments->bytes;
  record.timestamp = told_ns(api.end_ns);
  record.processId = pid();
  record.deviceId = device;
  record.contextId = context;
  record.streamId = function.ends_with("Async")
                        ? static_cast<std::uint32_t>(api.arguments->stream_id)
                        : CUPTI_INVALID_STREAM_ID;
  record.isAsync = function.ends_with("Async") ? 1 : 0;
  return entry_of(record, record.kind);
}

Entry overhead_entry(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t thread) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = pid();
  record.objectId.pt.threadId = id_of_thread(thread);
  record.start = told_ns(begin_ns);
  record.end = told_ns(end_ns);
  return entry_of(record, record.kind);
}

Entry stream_entry(std::uint32_t context, std::uint32_t stream, int priority) {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = context;
  record.streamId = stream;
  record.priority = static_cast<std::uint32_t>(priority);
  record.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  return entry_of(record, record.kind);
}

Entry context_entry(std::uint32_t context, std::uint32_t device) {
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = context;
  record.deviceId = device;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = 7;
  return entry_of(record, record.kind);
}

Entry device_entry(std::uint32_t device) {
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.globalMemoryBandwidth = 3'350'000'000;
  record.globalMemorySize = script().device_memory_bytes;
  record.numThreadsPerWarp = 32;
  record.numMultiprocessors = 132;
  record.computeCapabilityMajor = 9;
  record.id = device;
  record.uuid.bytes[0] = static_cast<char>(device);  // as cudaGetDeviceProperties says
  record.name = "Simulated GPU";
  record.isCudaVisible = 1;
  return entry_of(record, record.kind);
}

}  // namespace simgpu::cupti
