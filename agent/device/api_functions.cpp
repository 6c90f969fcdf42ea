#include "agent/device/api_functions.hpp"

#include <algorithm>

namespace traceagent::device {
namespace {

bool is_digits(std::string_view text) noexcept {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

template <std::size_t count>
bool starts_with_any(std::string_view name,
                     const std::array<std::string_view, count>& prefixes) noexcept {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// After "cuda" or "cu".
constexpr std::array<std::string_view, 2> transfers = {"Memcpy", "Memset"};
// CUPTI tells of no work for a prefetch: pages move by themselves.
constexpr std::array<std::string_view, 9> others = {
    "DeviceSynchronize", "CtxSynchronize", "StreamSynchronize", "EventSynchronize", "MemPrefetch",
    "StreamWaitEvent",   "Malloc",         "MemAlloc",          "HostAlloc"};
constexpr std::array<std::string_view, 2> frees = {"Free", "MemFree"};

constexpr int domain_of(bool is_driver) noexcept {
  return is_driver ? cupti_domain::driver : cupti_domain::runtime;
}

}  // namespace

std::string_view plain_name(std::string_view name) noexcept {
  if (name.starts_with("__")) name.remove_prefix(2);
  const std::size_t version = name.rfind("_v");
  if (version != std::string_view::npos && is_digits(name.substr(version + 2))) {
    name = name.substr(0, version);
  }
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) return plain_name(name.substr(0, name.size() - 5));
  }
  return name;
}

ApiUse use_of(std::string_view name) noexcept {
  if (!name.starts_with("cu")) return ApiUse::none;
  name.remove_prefix(name.starts_with("cuda") ? 4 : 2);
  if (name.starts_with("Launch")) {
    return name.starts_with("LaunchHostFunc") ? ApiUse::other : ApiUse::work;
  }
  if (name.starts_with("GraphLaunch")) return ApiUse::work;
  if (name.starts_with("StreamBeginCapture")) return ApiUse::begin_capture;
  if (name.starts_with("StreamEndCapture")) return ApiUse::end_capture;
  if (starts_with_any(name, transfers)) {
    // A synchronous one has its record by the time it returns.
    return name.find("Async") != std::string_view::npos ? ApiUse::work : ApiUse::other;
  }
  if (starts_with_any(name, others) || starts_with_any(name, frees)) return ApiUse::other;
  return ApiUse::none;
}

void ApiFunctions::learn(const CuptiFunctions& functions) {
  get_name_ = functions.get_callback_name;
  known_ = false;
  if (get_name_ == nullptr) return;
  for (const bool is_driver : {false, true}) {
    for (std::uint32_t id = 1; id < most; ++id) {
      const char* name = nullptr;
      ApiUse& use = sides_[is_driver].uses[id];
      use = ApiUse::unnamed;
      if (get_name_(domain_of(is_driver), id, &name) != cupti_result::success) continue;
      if (name == nullptr) continue;
      use = use_of(plain_name(name));
      known_ = known_ || use != ApiUse::none;
    }
  }
}

bool ApiFunctions::is_selected(bool is_driver, std::uint32_t id) const noexcept {
  return !known_ || id >= most || sides_[is_driver].uses[id] != ApiUse::none;
}

std::uint32_t ApiFunctions::name(bool is_driver, std::uint32_t id,
                                 const ring::Ring& ring) noexcept {
  if (id >= most) return 0;
  std::atomic<std::uint32_t>& offset = sides_[is_driver].offsets[id];
  const std::uint32_t known = offset.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const char* name = nullptr;
  if (get_name_ == nullptr || get_name_(domain_of(is_driver), id, &name) != cupti_result::success ||
      name == nullptr) {
    name = is_driver ? "a driver call" : "a runtime call";
  }
  // Two threads at once store it twice: nothing is wrong but a few bytes.
  const std::uint32_t added = ring.add_name(plain_name(name));
  offset.store(added, std::memory_order_relaxed);
  return added;
}

}  // namespace traceagent::device
