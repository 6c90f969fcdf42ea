#pragma once
// The collective's arguments in a line of the trace, on the call and on its kernel alike.

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/drain/window_events.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

// What is said of one collective, or of a group's as one: sums where they agree.
struct CollectiveTerms {
  const event::Record* first = nullptr;  // Layout::collective; null: none
  std::uint64_t in_elements = 0, out_elements = 0, bytes = 0;
  std::uint32_t count = 0;
  bool same_operation = true;  // kind, type, reduction and communicator
  bool same_communicator = true;
};

const ring::Communicator* communicator_of(const ring::Ring& ring,
                                          const event::Record& record) noexcept;

void add_collective(const ring::Ring& ring, const event::Record& record,
                    CollectiveTerms& terms) noexcept;

// All arguments but the stream.
void write_collective(trace::EventWriter& writer, const ring::Ring& ring,
                      const CollectiveTerms& terms);

// The collectives that an NCCL kernel carries out: the one of the call that launched it, `index` in
// the thread's records; of a group's end those of the group that a kernel of this name may be
// about, none where the group began before the window.
std::vector<const event::Record*> calls_of_kernel(const ThreadEvents& thread, std::uint32_t index,
                                                  std::string_view kernel);

// Whether the records hold all of the group that ends with this ncclGroupEnd.
bool is_whole_group(const ThreadEvents& thread, std::uint32_t end) noexcept;

// False where the kernel's name says that it is about another kind of collective.
bool may_carry_out(std::string_view kernel, const event::Record& collective) noexcept;

}  // namespace traceagent::drain
