#include "agent/trace/event_shapes.hpp"

#include <algorithm>
#include <new>

namespace traceagent::trace {

const EventShape* EventShapes::fitting(std::string_view text, std::size_t& size) {
  std::size_t index = count_ > 0 ? shapes_->next[latest_] : 0;
  for (std::size_t tries = 0; tries < count_; ++tries, index = (index + 1) % count_) {
    EventShape& shape = shapes_->known[index];
    size = shape.size_in(text);
    if (size > 0) {
      shapes_->next[latest_] = index;
      latest_ = index;
      patience_ = std::min(patience_ + 1, most_patience);
      return &shape;
    }
  }
  patience_ = std::max(patience_ - cost_of_misfit, 0);
  return nullptr;
}

void EventShapes::learn(std::string_view object, const JsonMembers& members) {
  if (!shapes_) {
    shapes_.reset(new (std::nothrow) Shapes);
    if (!shapes_) {
      return;
    }
  }
  const std::size_t index = count_ < most_shapes ? count_ : oldest_;
  if (!shapes_->known[index].learn(object, members, ++forms_)) {
    return;
  }
  shapes_->next[index] = index;
  if (count_ > 0) {
    shapes_->next[latest_] = index;
  }
  latest_ = index;
  count_ = std::max(count_, index + 1);
  oldest_ = (index + 1) % most_shapes;
}

std::size_t EventShapes::whole_object_at(std::string_view text, JsonMembers& members) {
  const bool is_tried = is_worth_it();
  std::size_t size = 0;
  const EventShape* const shape = is_tried ? fitting(text, size) : nullptr;
  if (shape != nullptr) [[likely]] {
    shape->set_members(text.data(), members);
    return size;
  }
  size = trace::whole_object_at(text, members);
  if (is_tried && size > 0) {
    learn(text.substr(0, size), members);
  }
  return size;
}

bool EventShapes::is_whole_object(std::string_view text) {
  const bool is_tried = is_worth_it();
  std::size_t size = 0;
  if (is_tried && fitting(text, size) != nullptr) [[likely]] {
    return size == text.size();
  }
  // What is too long to be learned may have members without number: they are not gathered.
  if (!is_tried || text.size() > EventShape::most_bytes) {
    return trace::is_whole_object(text);
  }
  size = trace::whole_object_at(text, members_);
  if (size > 0) {
    learn(text.substr(0, size), members_);
  }
  return size > 0 && size == text.size();
}

}  // namespace traceagent::trace
