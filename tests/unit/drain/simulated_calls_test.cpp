#include "agent/drain/simulated_calls.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <string>

#include "agent/api/function.hpp"

namespace traceagent::drain {
namespace {

using api::Function;

// "(" begins a group, ")" ends it, "?" ends it with an estimate, letters are collectives. The
// letters that were simulated.
std::string simulated(const std::string& calls) {
  std::deque<event::Record> records;
  std::vector<ThreadEvents> threads(1);
  for (const char call : calls) {
    event::Record& record = records.emplace_back();
    const Function function = call == '('   ? Function::ncclGroupStart
                              : call == ')' ? Function::ncclGroupEnd
                              : call == '?' ? Function::ncclGroupSimulateEnd
                                            : Function::ncclAllReduce;
    record.function = static_cast<std::uint16_t>(function);
    record.layout =
        function == Function::ncclAllReduce ? event::Layout::collective : event::Layout::none;
    threads[0].records.push_back(&record);
  }
  const SimulatedCalls found(threads);
  std::string letters;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (found.has(records[i])) letters += calls[i];
  }
  return letters;
}

TEST(SimulatedCalls, AreThoseOfAGroupWhoseOutermostEndIsAnEstimate) {
  EXPECT_EQ(simulated("a(bc)d"), "");
  EXPECT_EQ(simulated("a(bc?d"), "bc");
  EXPECT_EQ(simulated("(a?(b)(c?d"), "ac");
  EXPECT_EQ(simulated("(a(b?c)"), "") << "an inner end does nothing";
  EXPECT_EQ(simulated("(a(b)c?"), "abc");
  // A window's edges.
  EXPECT_EQ(simulated("a?b"), "");
  EXPECT_EQ(simulated("(a"), "");
}

}  // namespace
}  // namespace traceagent::drain
