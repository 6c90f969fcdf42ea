#include "agent/drain/resource_names.hpp"

#include <optional>

#include "agent/api/function.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::drain {
namespace {

using ring::Named;
using ring::ResourceName;

// cudaStreamLegacy and cudaStreamPerThread: what a null handle means depends on the call.
constexpr std::uint64_t legacy_stream = 1;
constexpr std::uint64_t per_thread_stream = 2;

std::string hexadecimal(std::uint64_t value) {
  char text[trace::max_hex_chars];
  const char* end = trace::put_hex(text, value);
  return std::string(static_cast<const char*>(text) + 1, end - 1);  // without the quotes
}

}  // namespace

std::uint64_t stream_handle_of(const event::Record& call) noexcept {
  switch (call.layout) {
    case event::Layout::launch:
    case event::Layout::copy:
    case event::Layout::peer_copy:
    case event::Layout::set:
    case event::Layout::collective:
      break;
    default:
      return no_stream_handle;
  }
  if (call.args[3] != 0) return call.args[3];
  const std::string_view symbol = api::name_of(static_cast<api::Function>(call.function)).symbol;
  const bool is_per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
  return is_per_thread ? per_thread_stream : legacy_stream;
}

ResourceNames::ResourceNames(const ring::Ring& ring) : ring_(ring) {
  for (const ring::NamedPlace& place : ring.header().named_resources) {
    std::optional<ResourceName> found = place.load();
    if (!found || ring.name(found->name).empty()) continue;
    if (found->kind != Named::stream) {
      others_.push_back(*found);
      continue;
    }
    if (found->handle == 0) found->handle = legacy_stream;
    streams_[found->handle].push_back(*found);
  }
}

std::string_view ResourceNames::stream(std::uint64_t handle, std::uint64_t ticks) const noexcept {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return {};
  for (const ResourceName& name : found->second) {
    const bool is_over = name.until_ticks != 0 && ticks >= name.until_ticks;
    if (ticks >= name.since_ticks && !is_over) return ring_.name(name.name);
  }
  return {};
}

std::string_view ResourceNames::newest(Named kind, std::uint64_t handle) const noexcept {
  const ResourceName* newest = nullptr;
  for (const ResourceName& name : others_) {
    if (name.kind != kind || name.handle != handle || name.until_ticks != 0) continue;
    if (newest == nullptr || name.since_ticks > newest->since_ticks) newest = &name;
  }
  return newest != nullptr ? ring_.name(newest->name) : std::string_view();
}

std::string_view ResourceNames::device(std::uint64_t number) const noexcept {
  return newest(Named::device, number);
}

std::string_view ResourceNames::thread(std::uint64_t id) const noexcept {
  return newest(Named::thread, id);
}

void ResourceNames::describe(trace::JsonObject& object) const {
  const auto add = [&](const char* key, Named kind, bool is_number) {
    trace::JsonObject names;
    for (const ResourceName& name : others_) {
      if (name.kind != kind || name.until_ticks != 0) continue;
      names.add(is_number ? std::to_string(name.handle) : hexadecimal(name.handle),
                ring_.name(name.name));
    }
    if (!names.empty()) object.add(key, names);
  };
  add("devices", Named::device, true);
  add("contexts", Named::context, false);
  add("threads", Named::thread, true);
}

void ResourceNames::describe_streams(trace::JsonArray& array,
                                     const std::set<std::string, std::less<>>& shown) const {
  for (const auto& [handle, names] : streams_) {
    for (const ResourceName& name : names) {
      const std::string_view text = ring_.name(name.name);
      if (name.until_ticks != 0 || shown.contains(text)) continue;
      array.add(trace::JsonObject().add("handle", hexadecimal(handle)).add("name", text));
    }
  }
}

}  // namespace traceagent::drain
