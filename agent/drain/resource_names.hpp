#pragma once
// What the job calls its streams, devices, contexts and threads: see agent/door/resource_names.hpp.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/ring/ring.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

class ResourceNames {
 public:
  explicit ResourceNames(const ring::Ring& ring);

  bool has_streams() const noexcept { return !streams_.empty(); }
  // Of the stream that had this handle at that time; "": it had no name.
  std::string_view stream(std::uint64_t handle, std::uint64_t ticks) const noexcept;
  std::string_view device(std::uint64_t number) const noexcept;
  std::string_view thread(std::uint64_t id) const noexcept;

  // Members "devices", "contexts", "threads" by number or handle, as far as there are names.
  void describe(trace::JsonObject& object) const;
  // The streams that have a name now, with their handles, but for the names in `shown`.
  void describe_streams(trace::JsonArray& array,
                        const std::set<std::string, std::less<>>& shown) const;

 private:
  std::string_view newest(ring::Named kind, std::uint64_t handle) const noexcept;

  const ring::Ring ring_;
  std::unordered_map<std::uint64_t, std::vector<ring::ResourceName>> streams_;
  std::vector<ring::ResourceName> others_;
};

// The handle of the stream that a call gives work to, with one number for each of the default
// streams; no_stream_handle: the call has none, or may use several.
inline constexpr std::uint64_t no_stream_handle = UINT64_MAX;
std::uint64_t stream_handle_of(const event::Record& call) noexcept;

}  // namespace traceagent::drain
