#pragma once

#include <cupti.h>

#include <cstdint>

/// The clock of CUPTI's records: the engine's, until the client has one of its own.
namespace simgpu::cupti {

/// For good: the real one has no way back either.
void set_timestamp_callback(CUpti_TimestampCallbackFunc callback);

/// A time of the engine's as records have it; 0 stays 0.
std::uint64_t told_ns(std::int64_t time_ns);

}  // namespace simgpu::cupti
