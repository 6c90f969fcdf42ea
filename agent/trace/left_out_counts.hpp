#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/trace/json_object.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// The events that who merged did not choose, by cause: of this merge, and of those that its inputs
// come from, which nobody can tell any more from these files.
class LeftOutCounts {
 public:
  // What is left out, and cut at the edges, now; before the inputs'.
  void add_own(const JsonObject& left_out, std::uint64_t clipped);
  // One that is in the merge. `metadata`: of its footer.
  void add(const MergeInput& input, std::string_view metadata);

  // "left_out", and "left_out_at_most" of parts that hold events of the same sources: what one
  // lacks another may have. null there: an input does not say it. Nothing, where nobody chose.
  // "clipped", or "clipped_at_most" where events were chosen again since: how many are there, cut
  // at the edges of a window.
  [[nodiscard]] JsonObject members() const;

 private:
  class Sum {
   public:
    // A JSON object. Without those of ranks that an earlier merge did not take: they may be in
    // this one, and "ranks" says who is.
    void add(std::string_view counts, bool with_ranks);
    [[nodiscard]] bool is_any() const { return is_any_; }
    [[nodiscard]] JsonObject object() const;

   private:
    std::vector<std::pair<std::string, std::uint64_t>> counts_;  // in the order in which they came
    bool is_any_ = false;
  };

  Sum exact_;
  Sum at_most_;
  std::uint64_t clipped_ = 0;
  bool is_clipped_exact_ = true;
  bool is_choosing_ = false;
  bool is_unknown_ = false;
};

}  // namespace traceagent::trace
