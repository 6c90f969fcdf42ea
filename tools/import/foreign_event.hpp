#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/trace/event_shapes.hpp"
#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

inline bool is_json_string(std::string_view json) { return json.starts_with('"'); }

// What stands between the quotes; of what is no string all.
inline std::string_view inside_quotes(std::string_view json) {
  return is_json_string(json) ? json.substr(1, json.size() - 2) : json;
}

class KnownForms;

// The members of an event that mean something here, as they stand; empty: absent.
struct ForeignEvent {
  using Field = std::string_view ForeignEvent::*;
  static constexpr std::size_t most_marked = 64;

  std::string_view ts, dur, ph, cat, name, pid, tid, id, id2, bind_id;
  std::uint64_t others =
      0;  // a bit for each of the first most_marked members that is none of these
  bool is_one_line = false;    // for certain: it need not be looked for line breaks
  bool may_tell_epoch = true;  // false: no key of it, nested ones included, is "epoch"

  explicit ForeignEvent(const ScannedObject& event) {
    std::size_t index = 0;
    for (const JsonMember& member : event.members) {
      const Field field = field_of(member.key);
      if (field != nullptr) {
        take(field, member);
      } else if (index < most_marked) {
        others |= std::uint64_t{1} << index;
      }
      ++index;
    }
  }
  // The same, with what is known of the events of one scan.
  ForeignEvent(const ScannedObject& event, KnownForms& known);

  [[nodiscard]] bool is_other(std::size_t index, const JsonMember& member) const {
    return index < most_marked ? (others >> index & 1U) != 0 : field_of(member.key) == nullptr;
  }
  [[nodiscard]] bool is_metadata() const { return ph == "\"M\""; }

  // Null: none of them.
  static Field field_of(std::string_view key) {
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

 private:
  void take(Field field, const JsonMember& member) {
    // In halves, as it was written just before: a load of both would wait for the cache.
    this->*field = {member.value.data(), member.value.size()};
  }
};

// Where the members that mean something stand, of the forms that events have had: keys that are
// the same thousands of times are told apart once.
class KnownForms {
 public:
  struct Form {
    struct Place {
      ForeignEvent::Field field;
      std::size_t index;
    };
    std::uint64_t number = 0;     // JsonMembers::form()
    std::uint64_t others = 0;     // ForeignEvent's
    bool is_one_line = false;     // as one of it is all are: what differs has no control characters
    bool may_tell_epoch = false;  // likewise: what differs is no key
    std::size_t count = 0;
    std::array<Place, trace::EventShape::most_members> places;
  };

  // Of an event whose members have a form.
  const Form& of(const ScannedObject& event) {
    Form& form = forms_[event.members.form() % forms_.size()];
    if (form.number != event.members.form()) [[unlikely]] {
      learn(event, form);
    }
    return form;
  }

 private:
  static void learn(const ScannedObject& event, Form& form) {
    form = {};
    form.number = event.members.form();
    form.is_one_line = event.text.find('\n') == std::string_view::npos;
    form.may_tell_epoch = event.text.find("\"epoch\"") != std::string_view::npos;
    std::size_t index = 0;
    for (const JsonMember& member : event.members) {
      const ForeignEvent::Field field = ForeignEvent::field_of(member.key);
      if (field != nullptr) {
        form.places[form.count++] = {field, index};
      } else {
        form.others |= std::uint64_t{1} << index;
      }
      ++index;
    }
  }

  std::array<Form, trace::EventShapes::most_shapes> forms_;
};

inline ForeignEvent::ForeignEvent(const ScannedObject& event, KnownForms& known) {
  if (event.members.form() == 0) [[unlikely]] {
    *this = ForeignEvent(event);
    return;
  }
  const KnownForms::Form& form = known.of(event);
  others = form.others;
  is_one_line = form.is_one_line;
  may_tell_epoch = form.may_tell_epoch;
  for (std::size_t i = 0; i < form.count; ++i) {
    const KnownForms::Form::Place& place = form.places[i];
    take(place.field, event.members.placed()[place.index]);
  }
}

}  // namespace traceagent::tools
