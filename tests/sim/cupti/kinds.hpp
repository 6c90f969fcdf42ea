#pragma once

#include <cupti.h>

#include <cstdint>

#include "tests/sim/engine/activity.hpp"

/// Which records the client wants, and since when. Safe from any thread.
namespace simgpu::cupti::kinds {

void enable(CUpti_ActivityKind kind);
void disable(CUpti_ActivityKind kind);
/// Goes before the setting for all contexts.
void set_for_context(std::uint32_t context, CUpti_ActivityKind kind, bool on);

bool enabled(CUpti_ActivityKind kind);
bool enabled(CUpti_ActivityKind kind, std::uint32_t context);
/// Turns everything off and writes nothing: for a forked child, whose CUPTI has no thread any more.
void forget();

/// Whether any kind is, or any single API function.
bool any();

void set_function(activity::Domain domain, std::uint32_t cbid, bool on);
/// Whether a call of this function that began then is wanted.
bool wants_call(activity::Domain domain, std::uint32_t cbid, std::int64_t begin_ns);

}  // namespace simgpu::cupti::kinds
