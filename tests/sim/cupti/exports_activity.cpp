#include <cupti.h>

#include "tests/sim/cupti/account.hpp"
#include "tests/sim/cupti/buffers.hpp"
#include "tests/sim/cupti/collector.hpp"
#include "tests/sim/cupti/export.hpp"
#include "tests/sim/cupti/handles.hpp"
#include "tests/sim/cupti/host_entries.hpp"
#include "tests/sim/cupti/kinds.hpp"
#include "tests/sim/cupti/subscriber.hpp"
#include "tests/sim/cupti/worker.hpp"
#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti {
namespace {

void check_kind(const char* function, CUpti_ActivityKind kind) {
  if (!is_kind(kind)) {
    misuse(function, "no such activity kind");
  }
}

bool collects_on_device(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
    case CUPTI_ACTIVITY_KIND_MEMSET:
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return true;
    default:
      return false;
  }
}

// Kinds that describe what is there already are written at once.
void describe_what_is_there(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
    for (int device = 0; device < script().devices; ++device) {
      Buffers::get().append(device_entry(static_cast<std::uint32_t>(device)));
    }
  } else if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) {
    Buffers::get().append(context_entry(current_context(), current_device_id()));
  }
}

CUptiResult refusal(const char* function, CUpti_ActivityKind kind) {
  check_kind(function, kind);
  if (subscriber::taken_by_another()) {
    misuse(function, "another subscriber has CUPTI");
  }
  if (script().cupti.refused && collects_on_device(kind)) {
    account().refusals.fetch_add(1);
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  }
  // As documented, one of the two kernel kinds at a time.
  const bool conflict =
      (kind == CUPTI_ACTIVITY_KIND_KERNEL &&
       kinds::enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
      (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kinds::enabled(CUPTI_ACTIVITY_KIND_KERNEL));
  return conflict ? CUPTI_ERROR_NOT_COMPATIBLE : CUPTI_SUCCESS;
}

CUptiResult enable(CUpti_ActivityKind kind) {
  if (const CUptiResult refused = refusal("cuptiActivityEnable", kind)) {
    return refused;
  }
  Collector::get();
  kinds::enable(kind);
  if (collects_on_device(kind) && simgpu::activity::has_context()) {
    simgpu::activity::watched_late().store(true);
  }
  worker::start();
  describe_what_is_there(kind);
  return CUPTI_SUCCESS;
}

CUptiResult set_for_context(const char* function, CUcontext handle, CUpti_ActivityKind kind,
                            bool on) {
  if (const CUptiResult refused = on ? refusal(function, kind) : CUPTI_SUCCESS) {
    return refused;
  }
  const std::uint32_t context = context_of_handle(handle);
  if (context == 0) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  Collector::get();
  kinds::set_for_context(context, kind, on);
  worker::start();
  return CUPTI_SUCCESS;
}

CUptiResult enable_function(activity::Domain domain, std::uint32_t cbid, bool on) {
  Collector::get();
  kinds::set_function(domain, cbid, on);
  if (on) {
    worker::start();
  }
  return CUPTI_SUCCESS;
}

CUptiResult flush(const char* function, bool forced) {
  if (Buffers::in_callback()) {
    misuse(function, "called from within a buffer callback");
  }
  Buffers& buffers = Buffers::get();
  if (!buffers.has_callbacks()) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  const std::int64_t begin_ns = now_ns();
  Collector::get().collect(forced);
  buffers.deliver_all();
  if (kinds::enabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
    account().overheads.fetch_add(1);
    buffers.append(overhead_entry(begin_ns, now_ns(), current_thread()));
  }
  return CUPTI_SUCCESS;
}

CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  std::size_t at = 0;
  if (*record != nullptr) {
    const auto* before = reinterpret_cast<const std::uint8_t*>(*record);
    at = static_cast<std::size_t>(before - buffer) + record_bytes((*record)->kind);
  }
  if (at >= valid_bytes) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  auto* found = reinterpret_cast<CUpti_Activity*>(buffer + at);
  if (record_bytes(found->kind) == 0) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  *record = found;
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace simgpu::cupti

using namespace simgpu::cupti;  // NOLINT: this file is the exports

SIMGPU_CUPTI(cuptiActivityRegisterCallbacks)
(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  Buffers::get().set_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityEnable)(CUpti_ActivityKind kind) { return failed(enable(kind)); }

SIMGPU_CUPTI(cuptiActivityEnableAndDump)(CUpti_ActivityKind kind) { return failed(enable(kind)); }

SIMGPU_CUPTI(cuptiActivityDisable)(CUpti_ActivityKind kind) {
  check_kind("cuptiActivityDisable", kind);
  kinds::disable(kind);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityEnableContext)(CUcontext context, CUpti_ActivityKind kind) {
  return failed(set_for_context("cuptiActivityEnableContext", context, kind, true));
}

SIMGPU_CUPTI(cuptiActivityDisableContext)(CUcontext context, CUpti_ActivityKind kind) {
  return failed(set_for_context("cuptiActivityDisableContext", context, kind, false));
}

SIMGPU_CUPTI(cuptiActivityEnableRuntimeApi)(CUpti_CallbackId cbid, std::uint8_t on) {
  return failed(enable_function(simgpu::activity::Domain::runtime, cbid, on != 0));
}

SIMGPU_CUPTI(cuptiActivityEnableDriverApi)(CUpti_CallbackId cbid, std::uint8_t on) {
  return failed(enable_function(simgpu::activity::Domain::driver, cbid, on != 0));
}

SIMGPU_CUPTI(cuptiActivityFlush)(CUcontext, std::uint32_t, std::uint32_t flags) {
  return failed(flush("cuptiActivityFlush", (flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0));
}

SIMGPU_CUPTI(cuptiActivityFlushAll)(std::uint32_t flags) {
  return failed(flush("cuptiActivityFlushAll", (flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0));
}

SIMGPU_CUPTI(cuptiActivityFlushPeriod)(std::uint32_t period_ms) {
  worker::set_period(period_ms);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityGetNextRecord)
(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  return next_record(buffer, valid_bytes, record);
}

SIMGPU_CUPTI(cuptiActivityGetNumDroppedRecords)
(CUcontext, std::uint32_t, std::size_t* dropped) {
  if (dropped == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *dropped = Buffers::get().take_dropped();
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityPushExternalCorrelationId)
(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  Collector::get().push_external(kind, id);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityPopExternalCorrelationId)
(CUpti_ExternalCorrelationKind kind, std::uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  std::uint64_t id = 0;
  if (!Collector::get().pop_external(kind, id)) {
    return failed(CUPTI_ERROR_QUEUE_EMPTY);
  }
  if (last != nullptr) {
    *last = id;
  }
  return CUPTI_SUCCESS;
}

// Settings that change nothing here: no queued and submitted times are ever known, every
// synchronization has its record.
SIMGPU_CUPTI(cuptiActivityEnableLatencyTimestamps)(std::uint8_t) { return CUPTI_SUCCESS; }
SIMGPU_CUPTI(cuptiActivityEnableLaunchAttributes)(std::uint8_t) { return CUPTI_SUCCESS; }
SIMGPU_CUPTI(cuptiActivityEnableAllocationSource)(std::uint8_t) { return CUPTI_SUCCESS; }
SIMGPU_CUPTI(cuptiActivityEnableAllSyncRecords)(std::uint8_t) { return CUPTI_SUCCESS; }
SIMGPU_CUPTI(cuptiActivityEnableHWTrace)(std::uint8_t) { return failed(CUPTI_ERROR_NOT_SUPPORTED); }
