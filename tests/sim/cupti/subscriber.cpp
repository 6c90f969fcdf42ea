#include "tests/sim/cupti/subscriber.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tests/sim/cupti/account.hpp"
#include "tests/sim/cupti/cbids.hpp"
#include "tests/sim/cupti/handles.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti::subscriber {
namespace {

constexpr std::size_t most_ids = 2048;

struct Subscriber {
  CUpti_CallbackFunc callback = nullptr;
  void* data = nullptr;
};

struct State {
  std::mutex mutex;
  std::atomic<Subscriber*> now{nullptr};  // never freed: a callback may be under way
  // What the subscriber wants; of the one that is now, so that those before leave little behind.
  std::atomic<bool> wanted[CUPTI_CB_DOMAIN_SIZE][most_ids]{};
  std::atomic<int> count{0};
  std::uint64_t attempts = 0;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

bool within(const Taken& taken, std::uint64_t attempt) {
  const std::int64_t time_ns = now_ns() - script().read_ns;
  return time_ns >= taken.from_ns && (taken.until_ns < 0 || time_ns < taken.until_ns) &&
         (taken.attempts == 0 || attempt <= taken.attempts);
}

void check(CUpti_SubscriberHandle handle, const char* function) {
  const auto* subscriber = reinterpret_cast<Subscriber*>(handle);
  if (subscriber == nullptr || subscriber != state().now.load()) {
    misuse(function, "not the subscriber, or one that has unsubscribed");
  }
}

bool valid(CUpti_CallbackDomain domain, std::uint32_t id) {
  return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE && id < most_ids;
}

void set(CUpti_CallbackDomain domain, std::uint32_t id, bool on) {
  State& all = state();
  if (all.wanted[domain][id].exchange(on) != on) {
    all.count.fetch_add(on ? 1 : -1);
  }
}

void want_nothing() {
  for (int domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    for (std::uint32_t id = 0; id < most_ids; ++id) {
      set(static_cast<CUpti_CallbackDomain>(domain), id, false);
    }
  }
}

CUpti_CallbackDomain domain_of(const activity::Api& api) {
  return api.domain == activity::Domain::driver ? CUPTI_CB_DOMAIN_DRIVER_API
                                                : CUPTI_CB_DOMAIN_RUNTIME_API;
}

}  // namespace

void forget() { state().now.store(nullptr); }

bool taken_by_another() {
  State& all = state();
  if (all.now.load() != nullptr) {
    return false;  // who came first keeps it
  }
  std::lock_guard lock(all.mutex);
  for (const Taken& taken : script().cupti.taken) {
    if (within(taken, all.attempts)) {
      return true;
    }
  }
  return false;
}

CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data) {
  if (handle == nullptr || callback == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  State& all = state();
  {
    std::lock_guard lock(all.mutex);
    ++all.attempts;
  }
  const void* nobody = nullptr;
  if (taken_by_another() || !activity::profiler().compare_exchange_strong(nobody, &all)) {
    account().refusals.fetch_add(1);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  auto* made = new Subscriber;
  made->callback = callback;
  made->data = data;
  want_nothing();
  all.now.store(made);
  account().subscriptions.fetch_add(1);
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(made);
  return CUPTI_SUCCESS;
}

CUptiResult unsubscribe(CUpti_SubscriberHandle handle) {
  check(handle, "cuptiUnsubscribe");
  state().now.store(nullptr);
  activity::profiler().store(nullptr);
  return CUPTI_SUCCESS;
}

CUptiResult enable(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, std::uint32_t id,
                   bool on) {
  check(handle, "cuptiEnableCallback");
  if (!valid(domain, id)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  set(domain, id, on);
  return CUPTI_SUCCESS;
}

CUptiResult enable_domain(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, bool on) {
  check(handle, "cuptiEnableDomain");
  if (!valid(domain, 1)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (std::uint32_t id = 1; id < most_ids; ++id) {
    set(domain, id, on);
  }
  return CUPTI_SUCCESS;
}

bool enabled(CUpti_CallbackDomain domain, std::uint32_t id) {
  return state().now.load() != nullptr && valid(domain, id) && state().wanted[domain][id].load();
}

void api_callback(const activity::Api& api, std::uint32_t cbid, CUpti_ApiCallbackSite site) {
  const Subscriber* subscriber = state().now.load();
  const CUpti_CallbackDomain domain = domain_of(api);
  if (subscriber == nullptr || state().count.load() == 0 || cbid == 0 || !enabled(domain, cbid)) {
    return;
  }
  static thread_local std::uint64_t correlation_data = 0;
  int result = api.result;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = callback_name(api.domain, cbid);
  data.functionReturnValue = site == CUPTI_API_EXIT ? &result : nullptr;
  data.context = handle_of_context(current_context());
  data.contextUid = current_context();
  data.correlationData = &correlation_data;
  data.correlationId = api.correlation;
  subscriber->callback(subscriber->data, domain, cbid, &data);
}

void context_ending(std::uint32_t context) {
  const Subscriber* subscriber = state().now.load();
  if (enabled(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)) {
    CUpti_ResourceData data{};
    data.context = handle_of_context(context);
    subscriber->callback(subscriber->data, CUPTI_CB_DOMAIN_RESOURCE,
                         CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
  }
}

void stream_made(std::uint32_t context, std::uint32_t) {
  const Subscriber* subscriber = state().now.load();
  if (enabled(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED)) {
    CUpti_ResourceData data{};
    data.context = handle_of_context(context);
    subscriber->callback(subscriber->data, CUPTI_CB_DOMAIN_RESOURCE,
                         CUPTI_CBID_RESOURCE_STREAM_CREATED, &data);
  }
}

}  // namespace simgpu::cupti::subscriber
