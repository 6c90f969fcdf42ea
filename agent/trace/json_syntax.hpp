#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// What is nested deeper is refused. Python's parser would refuse the whole merged file from 1,000
// on, less its callers' depth; our own files reach 8.
inline constexpr int deepest_json = 900;
// What files tell of themselves is put some levels deeper by a merge, and is to be read again.
inline constexpr int deepest_metadata = deepest_json + 20;

// Python refuses the whole file where the integer part of a number has more than 4,300.
inline constexpr std::size_t most_digits = 4000;

// Whether the text is one JSON value (RFC 8259, in UTF-8) and nothing beside it, no space either.
// Numbers may be larger than 64 bits or a double hold: viewers and Python take them. Fast enough to
// be asked of every event of a merge.
// Nothing is held but 16 words of the stack.
bool is_whole_value(std::string_view text, int deepest = deepest_json) noexcept;
bool is_whole_object(std::string_view text, int deepest = deepest_json) noexcept;

struct JsonMember {
  std::string_view key;    // as written between its quotes
  std::string_view value;  // as written
};

// The members of an object that is as one before it but for what fills its gaps (EventShape): where
// each stands is worked out when it is asked for, as few are.
class PlacedMembers {
 public:
  // Of a byte in the text before: here it is moved by what the gaps ahead of it have become longer.
  struct Place {
    std::uint16_t offset;
    std::uint16_t gaps;
  };
  // No gap lies within a key, or between it and its value.
  struct Member {
    Place key;
    std::uint16_t key_bytes;
    std::uint16_t value_begin;  // behind the key's beginning
    Place value_end;
  };

  PlacedMembers() = default;
  // `moved`: by so many bytes what lies behind so many gaps. All stays the caller's.
  PlacedMembers(const char* text, const Member* members, const std::ptrdiff_t* moved)
      : text_(text), members_(members), moved_(moved) {}

  JsonMember operator[](std::size_t index) const {
    const Member& member = members_[index];
    const char* const key = at(member.key);
    const char* const value = key + member.value_begin;
    return {{key, member.key_bytes},
            {value, static_cast<std::size_t>(at(member.value_end) - value)}};
  }

 private:
  [[nodiscard]] const char* at(Place place) const {
    return text_ + place.offset + moved_[place.gaps];
  }

  const char* text_ = nullptr;
  const Member* members_ = nullptr;
  const std::ptrdiff_t* moved_ = nullptr;
};

// In room that stays from object to object: a vector's push_back is a tenth of the time of a scan.
class JsonMembers {
 public:
  class Iterator {
   public:
    Iterator(const JsonMembers& members, std::size_t index) : members_(&members), index_(index) {}
    JsonMember operator*() const { return (*members_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const JsonMembers* members_;
    std::size_t index_;
  };

  void clear() {
    size_ = 0;
    form_ = 0;
    is_placed_ = false;
  }
  // After a clear(), or another add().
  void add(const JsonMember& member) {
    if (size_ == room_.size()) [[unlikely]] {
      room_.resize(2 * size_ + 16);
    }
    room_[size_++] = member;
  }
  // These, instead of what was here; as long as `placed` holds. `form`: form()
  void set(const PlacedMembers& placed, std::size_t count, std::uint64_t form) {
    placed_ = placed;
    size_ = count;
    form_ = form;
    is_placed_ = true;
  }
  JsonMember operator[](std::size_t index) const {
    return is_placed_ ? placed_[index] : room_[index];
  }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Not 0: what one EventShapes judged and gave this number has the same keys at the same places,
  // and its members are placed().
  [[nodiscard]] std::uint64_t form() const { return form_; }
  [[nodiscard]] const PlacedMembers& placed() const { return placed_; }

 private:
  std::vector<JsonMember> room_;
  PlacedMembers placed_;
  std::size_t size_ = 0;
  std::uint64_t form_ = 0;
  bool is_placed_ = false;
};

// The bytes of the object that `text` begins with, whatever follows it, and its members; 0 where
// no whole one does, and then they mean nothing.
std::size_t whole_object_at(std::string_view text, JsonMembers& members);

}  // namespace traceagent::trace
