#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "agent/trace/json_object.hpp"
#include "tools/import/first_events.hpp"
#include "tools/import/foreign_ids.hpp"
#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

// What a foreign file says of itself, gathered from the document's members and its metadata events.
class FileFacts {
 public:
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;

  void add_member(std::string_view key, std::string_view value);
  // Metadata events, and others until it has the first_events().
  void add_event(const ScannedObject& event);

  [[nodiscard]] ForeignKind kind() const { return kind_; }
  [[nodiscard]] std::optional<std::int64_t> rank() const { return rank_; }
  // CLOCK_REALTIME that its times count from, if they are not from 1970 themselves.
  [[nodiscard]] std::optional<std::int64_t> base_ns() const { return base_ns_; }
  // As PyTorch names its own; or empty.
  [[nodiscard]] const std::string& host() const { return host_; }
  // Of ForeignKind::traceagent: those whose events it may have.
  [[nodiscard]] const std::set<std::int64_t>& own_ranks() const { return own_ranks_; }
  // And the JSON of its "sources", "traceagent" and "selections", each of one line; empty: it has
  // none, or (has_lost_own) it is too long.
  [[nodiscard]] const std::string& sources() const { return sources_; }
  // And "traceName", as between the quotes.
  [[nodiscard]] const std::string& own_name() const { return own_name_; }
  [[nodiscard]] const std::string& own_metadata() const { return own_metadata_; }
  [[nodiscard]] const std::string& selections() const { return selections_; }
  [[nodiscard]] bool has_lost_own() const { return has_lost_own_; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  // JSON of one line; empty: there is none.
  [[nodiscard]] const std::string& distributed_info() const { return distributed_info_; }
  [[nodiscard]] const std::string& device_properties() const { return device_properties_; }
  [[nodiscard]] const FirstEvents& first_events() const { return first_events_; }
  // The other members of the document, but for long ones, which are named with their size.
  [[nodiscard]] const trace::JsonObject& members() const { return members_; }

 private:
  [[nodiscard]] bool is_own() const { return kind_ == ForeignKind::traceagent; }
  void add_distributed_info(std::string info);
  bool add_own_member(std::string_view key, std::string& value);
  void add_metadata(std::string_view name, std::string_view args);
  void keep(std::string_view key, const std::string& value);

  ForeignKind kind_ = ForeignKind::chrome;
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> base_ns_;
  std::set<std::int64_t> own_ranks_;
  std::string sources_, own_metadata_, selections_, own_name_, host_;
  bool has_lost_own_ = false;
  bool is_complete_ = false;
  std::string distributed_info_;
  std::string device_properties_;
  FirstEvents first_events_;
  trace::JsonObject members_;
  std::size_t kept_bytes_ = 0;
};

// JSON without line breaks between its tokens; empty where it is no JSON.
std::string on_one_line(std::string_view json);

}  // namespace traceagent::tools
