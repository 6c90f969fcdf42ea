#pragma once

#include <cupti.h>

#include <optional>

#include "tests/sim/cupti/entry.hpp"

/// Records of what the host did.
namespace simgpu::cupti {

void set_thread_id_type(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType thread_id_type();

Entry api_entry(const activity::Api& api, std::uint32_t cbid);
Entry external_entry(CUpti_ExternalCorrelationKind kind, std::uint64_t id,
                     std::uint32_t correlation);
/// Of a call that waits; nothing for any other.
std::optional<Entry> synchronization_entry(const activity::Api& api, std::uint32_t context);
/// Of a call that allocates or frees; nothing for any other.
std::optional<Entry> memory_entry(const activity::Api& api, std::uint32_t device,
                                  std::uint32_t context);
/// CUPTI's own cost: a buffer handed over.
Entry overhead_entry(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t thread);
Entry stream_entry(std::uint32_t context, std::uint32_t stream, int priority);
Entry context_entry(std::uint32_t context, std::uint32_t device);
Entry device_entry(std::uint32_t device);

}  // namespace simgpu::cupti
