#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "agent/trace/event_shape.hpp"
#include "agent/trace/json_syntax.hpp"

namespace traceagent::trace {

// Judges the events of a trace, one after the other. They have a few shapes, each thousands of
// times: one that fits into the shape of another before it is JSON since that was, and this is
// seen in a fifth of the time. Of any text it says what json_syntax.hpp says.
class EventShapes {
 public:
  static constexpr std::size_t most_shapes = 8;
  static constexpr std::size_t most_memory_bytes =
      most_shapes * (sizeof(EventShape) + sizeof(std::size_t));

  // As the function of this name; the members hold until the next text is judged.
  std::size_t whole_object_at(std::string_view text, JsonMembers& members);
  [[nodiscard]] bool is_whole_object(std::string_view text);

  [[nodiscard]] std::size_t memory_bytes() const { return shapes_ ? most_memory_bytes : 0; }

 private:
  // Where two thirds of the events fit, trying is worth it; where it was not, lately, one of
  // sixteen tries.
  static constexpr int most_patience = 64;
  static constexpr int cost_of_misfit = 2;
  static constexpr unsigned pause_events = 16;

  struct Shapes {
    std::array<EventShape, most_shapes> known;
    std::array<std::size_t, most_shapes> next;  // which fitted behind each the last time
  };
  static_assert(sizeof(Shapes) == most_memory_bytes);

  [[nodiscard]] bool is_worth_it() { return patience_ > 0 || ++passed_over_ % pause_events == 0; }
  // Null: none fits.
  const EventShape* fitting(std::string_view text, std::size_t& size);
  void learn(std::string_view object, const JsonMembers& members);

  std::unique_ptr<Shapes> shapes_;
  std::size_t count_ = 0;
  std::size_t oldest_ = 0;
  std::size_t latest_ = 0;
  int patience_ = most_patience;
  unsigned passed_over_ = 0;
  std::uint64_t forms_ = 0;  // so many were learned
  JsonMembers members_;
};

}  // namespace traceagent::trace
