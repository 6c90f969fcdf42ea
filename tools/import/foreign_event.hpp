#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

inline bool is_json_string(std::string_view json) { return json.starts_with('"'); }

// What stands between the quotes; of what is no string all.
inline std::string_view inside_quotes(std::string_view json) {
  return is_json_string(json) ? json.substr(1, json.size() - 2) : json;
}

// The members of an event that mean something here, as they stand; empty: absent.
struct ForeignEvent {
  std::string_view ts, dur, ph, cat, name, pid, tid, id, id2, bind_id;
  std::uint64_t others = 0;  // a bit for each of the first 64 members that is none of these

  explicit ForeignEvent(const ScannedObject& event) {
    std::size_t index = 0;
    for (const JsonMember& member : event.members) {
      const auto field = field_of(member.key);
      if (field != nullptr) {
        // In halves, as it was written just before: a load of both would wait for the cache.
        this->*field = {member.value.data(), member.value.size()};
      } else if (index < 64) {
        others |= std::uint64_t{1} << index;
      }
      ++index;
    }
  }

  [[nodiscard]] bool is_other(std::size_t index, const JsonMember& member) const {
    return index < 64 ? (others >> index & 1U) != 0 : field_of(member.key) == nullptr;
  }
  [[nodiscard]] bool is_metadata() const { return ph == "\"M\""; }

  // Null: none of them.
  static std::string_view ForeignEvent::*field_of(std::string_view key) {
    switch (key.size()) {
      case 2:
        if (key == "ts") return &ForeignEvent::ts;
        return key == "ph" ? &ForeignEvent::ph : key == "id" ? &ForeignEvent::id : nullptr;
      case 3:
        if (key == "dur") return &ForeignEvent::dur;
        if (key == "pid") return &ForeignEvent::pid;
        if (key == "tid") return &ForeignEvent::tid;
        return key == "cat" ? &ForeignEvent::cat : key == "id2" ? &ForeignEvent::id2 : nullptr;
      case 4:
        return key == "name" ? &ForeignEvent::name : nullptr;
      case 7:
        return key == "bind_id" ? &ForeignEvent::bind_id : nullptr;
      default:
        return nullptr;
    }
  }
};

}  // namespace traceagent::tools
