#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/trace/json_object.hpp"
#include "tools/import/foreign_ids.hpp"
#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

// What a foreign file says of itself, gathered from the document's members and its metadata events.
class FileFacts {
 public:
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;

  void add_member(std::string_view key, std::string_view value);
  void add_event(const ScannedObject& event);

  [[nodiscard]] ForeignKind kind() const { return kind_; }
  [[nodiscard]] std::optional<std::int64_t> rank() const { return rank_; }
  // CLOCK_REALTIME that its times count from, if they are not from 1970 themselves.
  [[nodiscard]] std::optional<std::int64_t> base_ns() const { return base_ns_; }
  // JSON of one line; empty: there is none.
  [[nodiscard]] const std::string& distributed_info() const { return distributed_info_; }
  [[nodiscard]] const std::string& device_properties() const { return device_properties_; }
  // The other members of the document, but for long ones, which are named with their size.
  [[nodiscard]] const trace::JsonObject& members() const { return members_; }

 private:
  void add_metadata(std::string_view name, std::string_view args);
  void keep(std::string_view key, const std::string& value);

  ForeignKind kind_ = ForeignKind::chrome;
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> base_ns_;
  std::string distributed_info_;
  std::string device_properties_;
  trace::JsonObject members_;
  std::size_t kept_bytes_ = 0;
};

// JSON without line breaks between its tokens; empty where it is no JSON.
std::string on_one_line(std::string_view json);

}  // namespace traceagent::tools
