#include <cupti.h>

#include <chrono>
#include <thread>

#include "tests/sim/cupti/cbids.hpp"
#include "tests/sim/cupti/collector.hpp"
#include "tests/sim/cupti/export.hpp"
#include "tests/sim/cupti/subscriber.hpp"
#include "tests/sim/engine/script.hpp"

using namespace simgpu::cupti;  // NOLINT: this file is the exports

SIMGPU_CUPTI(cuptiSubscribe)
(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data) {
  Collector::get();
  return failed(subscriber::subscribe(handle, callback, data));
}

SIMGPU_CUPTI(cuptiSubscribe_v2)
(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data,
 CUpti_SubscriberParams* parameters) {
  if (parameters != nullptr && parameters->structSize == 0) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  Collector::get();
  return failed(subscriber::subscribe(handle, callback, data));
}

SIMGPU_CUPTI(cuptiUnsubscribe)(CUpti_SubscriberHandle handle) {
  return failed(subscriber::unsubscribe(handle));
}

SIMGPU_CUPTI(cuptiEnableCallback)
(std::uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
 CUpti_CallbackId id) {
  if (on != 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(simgpu::script().cupti.callbacks_take_ns));
  }
  return failed(subscriber::enable(handle, domain, id, on != 0));
}

SIMGPU_CUPTI(cuptiEnableDomain)
(std::uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  return failed(subscriber::enable_domain(handle, domain, on != 0));
}

SIMGPU_CUPTI(cuptiEnableAllDomains)(std::uint32_t on, CUpti_SubscriberHandle handle) {
  for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    subscriber::enable_domain(handle, static_cast<CUpti_CallbackDomain>(domain), on != 0);
  }
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetCallbackState)
(std::uint32_t* on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (on == nullptr) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *on = subscriber::enabled(domain, id) ? 1 : 0;
  return CUPTI_SUCCESS;
}

SIMGPU_CUPTI(cuptiGetCallbackName)
(CUpti_CallbackDomain domain, std::uint32_t cbid, const char** name) {
  const bool api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (name == nullptr || !api) {
    return failed(CUPTI_ERROR_INVALID_PARAMETER);
  }
  *name = callback_name(domain == CUPTI_CB_DOMAIN_DRIVER_API ? simgpu::activity::Domain::driver
                                                             : simgpu::activity::Domain::runtime,
                        cbid);
  return failed(*name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS);
}
