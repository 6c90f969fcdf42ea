#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// What is nested deeper is refused; our own files reach 8.
inline constexpr int deepest_json = 60;

// Whether the text is one JSON value (RFC 8259, in UTF-8) and nothing beside it, no space either.
// Numbers must fit 64 bits or a double, as what reads traces wants them. Fast enough to be asked of
// every event of a merge.
bool is_whole_value(std::string_view text) noexcept;
bool is_whole_object(std::string_view text) noexcept;

struct JsonMember {
  std::string_view key;    // as written between its quotes
  std::string_view value;  // as written
};

// In room that stays from object to object: a vector's push_back is a tenth of the time of a scan.
class JsonMembers {
 public:
  void clear() {
    size_ = 0;
    form_ = 0;
  }
  void add(const JsonMember& member) {
    if (size_ == room_.size()) [[unlikely]] {
      room_.resize(2 * size_ + 16);
    }
    room_[size_++] = member;
  }
  // Room for `count` more, which the caller sets.
  JsonMember* add_some(std::size_t count) {
    if (room_.size() - size_ < count) [[unlikely]] {
      room_.resize(2 * size_ + count);
    }
    size_ += count;
    return room_.data() + size_ - count;
  }
  [[nodiscard]] const JsonMember* begin() const { return room_.data(); }
  [[nodiscard]] const JsonMember* end() const { return room_.data() + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Not 0: what one EventShapes judged and gave this number has the same keys at the same places.
  [[nodiscard]] std::uint64_t form() const { return form_; }
  void set_form(std::uint64_t form) { form_ = form; }

 private:
  std::vector<JsonMember> room_;
  std::size_t size_ = 0;
  std::uint64_t form_ = 0;
};

// The bytes of the object that `text` begins with, whatever follows it, and its members; 0 where
// no whole one does, and then they mean nothing.
std::size_t whole_object_at(std::string_view text, JsonMembers& members);

}  // namespace traceagent::trace
