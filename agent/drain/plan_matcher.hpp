#pragma once
// Which call of the job a plan of NCCL's belongs to.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "agent/api/function.hpp"
#include "agent/drain/window_events.hpp"

namespace traceagent::drain {

// A plan (event::CollectivePlan) and the thread that launched it.
struct ToldPlan {
  const event::Record* record;
  std::uint32_t thread_id;
};

// A plan that has its call; null: the call is none of the window's.
struct JoinedPlan {
  ToldPlan told;
  const event::Record* call;
};

// nullopt for what is no collective, and for functions newer than this agent.
std::optional<event::Collective> collective_of(api::Function function) noexcept;

class PlanMatcher {
 public:
  // The calls of a window.
  PlanMatcher(const ring::Ring& ring, const std::vector<ThreadEvents>& threads);

  // The call of that number (correlation_of()); null where it is none of the window's.
  const event::Record* named(std::uint64_t call) const;
  // For a plan that names no call: NCCL before 2.28 names none in a group. First in, first out of
  // the calls of the same kind, size and communicator that the group's end launched.
  const event::Record* find(const ToldPlan& told) const;
  // The call has its plan; their communicators are one from now on.
  void match(const event::Record& call, const event::Record& plan);

 private:
  // What a call and its plan have in common. In bytes: NCCL gathers and broadcasts bytes, whatever
  // type the program named.
  struct Shape {
    event::Collective kind;
    std::uint64_t bytes;
    std::int32_t peer;  // of sends and receives
    auto operator<=>(const Shape&) const = default;
  };
  struct Waiting {
    const event::Record* call;  // null: has its plan
    std::uint32_t thread_id;
    const event::Record* group_end;  // the outermost ncclGroupEnd that launches it; null: none
  };

  // A window holds many thousands of calls that are alike: those that have their plans are not
  // looked at again.
  struct Alike {
    std::vector<Waiting> calls;  // a thread's in order
    std::size_t first = 0;       // all before it have their plans
  };

  static Shape shape(event::Collective kind, std::uint64_t count, std::uint64_t type,
                     std::int32_t peer) noexcept;
  static Shape shape_of_call(const event::Record& call) noexcept;
  void add(const ThreadEvents& thread);
  bool may_be(const Waiting& waiting, const ToldPlan& told, bool same_thread) const;
  bool same_communicator(const event::Record& call, const event::Record& plan) const;

  const ring::Ring ring_;
  std::unordered_map<std::uint64_t, const event::Record*> by_number_;
  std::map<Shape, Alike> waiting_;
  std::unordered_map<const event::Record*, std::size_t> place_of_;  // among those alike
  std::unordered_map<std::uint32_t, std::uint32_t> known_;  // NCCL's communicator: the wrappers'
};

}  // namespace traceagent::drain
