#pragma once
// The user's own profiler plugin behind ours: it sees what NCCL would have shown it without us, and
// its handles are what NCCL gets. What we know of the same event is kept beside them.

#include "agent/door/nccl_plugin_handle.hpp"
#include "agent/door/nccl_plugin_mask.hpp"
#include "agent/door/nccl_plugin_recording.hpp"

namespace traceagent::door::nccl_plugin {

// Whether NCCL shows an event of this type to a plugin that asked for `mask`: it shows the parents
// of what was asked for, too.
bool would_be_shown(std::uint32_t type, std::uint32_t mask) noexcept;

inline bool is_users(const void* handle) noexcept { return handle != nullptr && !is_own(handle); }

// Our handle of an event, by the one that NCCL has; nullptr where we have none, or have forgotten
// it: 4,096 at a time are known.
void* own_handle(void* handle) noexcept;
void remember_own_handle(void* users, void* own) noexcept;

// Replaces, for its life, what of an event's parents is ours: theirs would take it for a pointer.
class WithoutOurParents {
 public:
  explicit WithoutOurParents(const Event& event) noexcept
      : parent_(event.parent), group_(event.group), true_parent_(*event.parent) {
    if (is_own(true_parent_)) *parent_ = nullptr;
    if (group_ == nullptr) return;
    true_group_ = *group_;
    if (is_own(true_group_)) *group_ = nullptr;
  }
  ~WithoutOurParents() {
    *parent_ = true_parent_;
    if (group_ != nullptr) *group_ = true_group_;
  }
  WithoutOurParents(const WithoutOurParents&) = delete;
  WithoutOurParents& operator=(const WithoutOurParents&) = delete;

 private:
  void** const parent_;
  void** const group_;
  void* const true_parent_;
  void* true_group_ = nullptr;
};

// The handle for NCCL. `ask` calls start_event() of the user's plugin.
template <class Ask>
void* begin_chained(Communicator* communicator, const Event& event, const Ask& ask) noexcept {
  void* users = nullptr;
  void* own = begin_event(communicator, event, own_handle(*event.parent));
  const auto mask = static_cast<std::uint32_t>(wanted_by_users_plugin());
  if (communicator != nullptr && !communicator->users_failed && would_be_shown(event.type, mask)) {
    const WithoutOurParents parents(event);
    ask(&users);
  }
  if (users == nullptr) return own;
  if (own != nullptr && kind_of(own) != HandleKind::nothing) remember_own_handle(users, own);
  return users;
}

}  // namespace traceagent::door::nccl_plugin
