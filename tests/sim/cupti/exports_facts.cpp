#include <cupti.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/sim/cupti/export.hpp"
#include "tests/sim/cupti/format.hpp"
#include "tests/sim/cupti/handles.hpp"
#include "tests/sim/cupti/host_entries.hpp"
#include "tests/sim/cupti/timestamps.hpp"
#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cupti {
namespace {

thread_local CUptiResult last_error = CUPTI_SUCCESS;

struct Attributes {
  std::mutex mutex;
  std::map<int, std::vector<unsigned char>> values;
};

Attributes& attributes() {
  static auto* instance = new Attributes;
  return *instance;
}

CUptiResult stream_id(CUcontext handle, CUstream stream, bool per_thread, std::uint32_t* id) {
  if (id == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const std::uint32_t context = handle == nullptr ? current_context() : context_of_handle(handle);
  const int device = activity::device_of_context(context);
  if (context == 0 || device < 0) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  Timeline& timeline = Timeline::get();
  const Stream* found = reinterpret_cast<Stream*>(stream);
  if (stream == nullptr) {
    found = per_thread ? timeline.thread_stream(device) : timeline.legacy_stream(device);
  } else if (stream == CU_STREAM_LEGACY) {
    found = timeline.legacy_stream(device);
  } else if (stream == CU_STREAM_PER_THREAD) {
    found = timeline.thread_stream(device);
  } else if (!timeline.is_stream(found)) {
    return CUPTI_ERROR_INVALID_STREAM;
  }
  *id = static_cast<std::uint32_t>(found->id);
  return CUPTI_SUCCESS;
}

const char* result_name(CUptiResult result) {
  switch (result) {
    case CUPTI_SUCCESS:
      return "CUPTI_SUCCESS";
    case CUPTI_ERROR_INVALID_PARAMETER:
      return "CUPTI_ERROR_INVALID_PARAMETER";
    case CUPTI_ERROR_INVALID_CONTEXT:
      return "CUPTI_ERROR_INVALID_CONTEXT";
    case CUPTI_ERROR_INVALID_OPERATION:
      return "CUPTI_ERROR_INVALID_OPERATION";
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
      return "CUPTI_ERROR_MAX_LIMIT_REACHED";
    case CUPTI_ERROR_NOT_COMPATIBLE:
      return "CUPTI_ERROR_NOT_COMPATIBLE";
    case CUPTI_ERROR_QUEUE_EMPTY:
      return "CUPTI_ERROR_QUEUE_EMPTY";
    case CUPTI_ERROR_INVALID_STREAM:
      return "CUPTI_ERROR_INVALID_STREAM";
    case CUPTI_ERROR_INVALID_KIND:
      return "CUPTI_ERROR_INVALID_KIND";
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "CUPTI_ERROR_NOT_SUPPORTED";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    default:
      return "CUPTI_ERROR_UNKNOWN";
  }
}

}  // namespace

CUptiResult failed(CUptiResult result) {
  if (result != CUPTI_SUCCESS) {
    last_error = result;
  }
  return result;
}

}  // namespace simgpu::cupti

using namespace simgpu::cupti;  // NOLINT: this file is the exports

SIMGPU_CUPTI(cuptiGetVersion)(std::uint32_t* version) {
  if (version == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *version = api_version();
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetTimestamp)(std::uint64_t* time_ns) {
  if (time_ns == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *time_ns = told_ns(simgpu::now_ns());
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityRegisterTimestampCallback)(CUpti_TimestampCallbackFunc callback) {
  if (callback == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  set_timestamp_callback(callback);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetResultString)(CUptiResult result, const char** text) {
  if (text == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *text = result_name(result);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetLastError)(void) { return last_error; }

SIMGPU_CUPTI(cuptiSetThreadIdType)(CUpti_ActivityThreadIdType type) {
  if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
      type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return failed(CUPTI_ERROR_NOT_SUPPORTED);
  }
  set_thread_id_type(type);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetThreadIdType)(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *type = thread_id_type();
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivitySetAttribute)
(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
  if (size == nullptr || value == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  const auto* bytes = static_cast<const unsigned char*>(value);
  std::lock_guard lock(attributes().mutex);
  attributes().values[attribute].assign(bytes, bytes + *size);
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiActivityGetAttribute)
(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) {
  if (size == nullptr || value == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  std::lock_guard lock(attributes().mutex);
  const auto& kept = attributes().values[attribute];
  std::memset(value, 0, *size);
  std::memcpy(value, kept.data(), std::min(kept.size(), *size));
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetStreamIdEx)
(CUcontext context, CUstream stream, std::uint8_t per_thread, std::uint32_t* id) {
  return failed(stream_id(context, stream, per_thread != 0, id));
}

SIMGPU_CUPTI(cuptiGetStreamId)(CUcontext context, CUstream stream, std::uint32_t* id) {
  return failed(stream_id(context, stream, false, id));
}

SIMGPU_CUPTI(cuptiGetContextId)(CUcontext context, std::uint32_t* id) {
  if (id == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *id = context_of_handle(context);
  return failed(*id == 0 ? CUPTI_ERROR_INVALID_CONTEXT : CUPTI_SUCCESS);
}

SIMGPU_CUPTI(cuptiGetDeviceId)(CUcontext context, std::uint32_t* id) {
  if (id == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  const std::uint32_t known = context == nullptr ? current_context() : context_of_handle(context);
  const int device = simgpu::activity::device_of_context(known);
  *id = static_cast<std::uint32_t>(device);
  return failed(device < 0 ? CUPTI_ERROR_INVALID_CONTEXT : CUPTI_SUCCESS);
}

// The real one has crashed living processes and slowed others for good: the agent never calls it.
SIMGPU_CUPTI(cuptiFinalize)(void) { simgpu::misuse("cuptiFinalize", "called at all"); }
