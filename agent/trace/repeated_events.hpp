#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace traceagent::trace {

// Events that several inputs of a merge hold, of inputs that hold parts of the same sources
// (windows that overlap, copies) or states of one file: they are equal but for spaces, and lie at
// one time. What an input itself has several times stays so. Events are asked for in the order of
// their times, so that those of one time alone are kept in mind: by 128 bits of hash, and no more
// than `most`.
class RepeatedEvents {
 public:
  static constexpr std::size_t most = 1U << 16;

  // Whether another input has told as many of it as this one. Inputs that are one file count as
  // one.
  bool is_repeated(std::size_t input, std::int64_t absolute_ns, std::string_view text);

  std::uint64_t count() const { return count_; }
  // Of a time at which there are more than `most`, which are not compared.
  bool is_any_not_compared() const { return is_any_not_compared_; }

 private:
  struct Key {
    std::uint64_t first, second;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const { return key.first; }
  };
  // Inputs come one after the other: at one time all events of one, then all of the next.
  struct Seen {
    std::size_t input = 0;
    std::uint64_t of_input = 0;
    std::uint64_t written = 0;
  };

  static Key key_of(std::string_view text);

  std::int64_t absolute_ns_ = 0;
  std::unordered_map<Key, Seen, HashOfKey> seen_;
  std::uint64_t count_ = 0;
  bool is_any_not_compared_ = false;
  std::string squeezed_;
};

}  // namespace traceagent::trace
