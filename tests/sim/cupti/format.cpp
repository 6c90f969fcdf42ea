#include "tests/sim/cupti/format.hpp"

#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti {
namespace {

// By CUDA 13.0, 12.4 and 11.8.
std::size_t pick(std::size_t in_13, std::size_t in_12, std::size_t in_11) {
  if (cupti_major >= 13) {
    return in_13;
  }
  return cupti_major == 12 ? in_12 : in_11;
}

std::size_t written_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return pick(sizeof(CUpti_ActivityKernel10), sizeof(CUpti_ActivityKernel9),
                  sizeof(CUpti_ActivityKernel8));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return pick(sizeof(CUpti_ActivityMemcpy6), sizeof(CUpti_ActivityMemcpy5),
                  sizeof(CUpti_ActivityMemcpy5));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return pick(sizeof(CUpti_ActivitySynchronization2), sizeof(CUpti_ActivitySynchronization),
                  sizeof(CUpti_ActivitySynchronization));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return pick(sizeof(CUpti_ActivityMemory4), sizeof(CUpti_ActivityMemory3),
                  sizeof(CUpti_ActivityMemory3));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return pick(sizeof(CUpti_ActivityOverhead3), sizeof(CUpti_ActivityOverhead2),
                  sizeof(CUpti_ActivityOverhead));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return pick(sizeof(CUpti_ActivityContext3), sizeof(CUpti_ActivityContext),
                  sizeof(CUpti_ActivityContext));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return pick(sizeof(CUpti_ActivityDevice5), sizeof(CUpti_ActivityDevice4),
                  sizeof(CUpti_ActivityDevice4));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return pick(sizeof(CUpti_ActivityGraphTrace2), sizeof(CUpti_ActivityGraphTrace),
                  sizeof(CUpti_ActivityGraphTrace));
    default:
      return 0;
  }
}

// The records are cut from the newest format.
static_assert(offsetof(CUpti_ActivityKernel10, clusterX) ==
              offsetof(CUpti_ActivityKernel8, clusterX));
static_assert(offsetof(CUpti_ActivityMemcpy6, channelType) ==
              offsetof(CUpti_ActivityMemcpy5, channelType));
static_assert(offsetof(CUpti_ActivityMemory4, memoryPoolConfig) ==
              offsetof(CUpti_ActivityMemory3, memoryPoolConfig));
static_assert(offsetof(CUpti_ActivityOverhead3, end) == offsetof(CUpti_ActivityOverhead, end));
static_assert(offsetof(CUpti_ActivitySynchronization2, cudaEventId) ==
              offsetof(CUpti_ActivitySynchronization, cudaEventId));
static_assert(offsetof(CUpti_ActivityDevice5, migUuid) == offsetof(CUpti_ActivityDevice4, migUuid));
static_assert(offsetof(CUpti_ActivityGraphTrace2, streamId) ==
              offsetof(CUpti_ActivityGraphTrace, streamId));

}  // namespace

std::uint32_t api_version() {
  if (cupti_major >= 13) {
    return script().cupti.is_of_13_0 ? 130000 : 130001;
  }
  return cupti_major == 12 ? 22 : 18;
}

std::size_t record_bytes(CUpti_ActivityKind kind) { return (written_bytes(kind) + 7) / 8 * 8; }

bool is_kind(CUpti_ActivityKind kind) {
  return kind > CUPTI_ACTIVITY_KIND_INVALID && kind <= CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS;
}

}  // namespace simgpu::cupti
