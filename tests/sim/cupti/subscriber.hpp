#pragma once

#include <cupti.h>

#include "tests/sim/engine/activity.hpp"

/// The one subscriber, and what it wants to be called for.
namespace simgpu::cupti::subscriber {

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data);
CUptiResult unsubscribe(CUpti_SubscriberHandle handle);
CUptiResult enable(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, std::uint32_t id,
                   bool on);
CUptiResult enable_domain(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, bool on);
bool enabled(CUpti_CallbackDomain domain, std::uint32_t id);

/// In a forked child nobody is called.
void forget();

/// Whether somebody else, by the script, has CUPTI now.
bool taken_by_another();

void api_callback(const activity::Api& api, std::uint32_t cbid, CUpti_ApiCallbackSite site);
void context_ending(std::uint32_t context);
void stream_made(std::uint32_t context, std::uint32_t stream);

}  // namespace simgpu::cupti::subscriber
