#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/trace/selection.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/input_chains.hpp"
#include "tools/selection/paired_events.hpp"
#include "tools/selection/seen_categories.hpp"
#include "tools/selection/verdicts.hpp"

namespace traceagent::tools {

struct SelectionCounts {
  std::array<std::uint64_t, 5> events{};  // by Verdict
  std::uint64_t clipped = 0;              // of those kept: made shorter or moved to the edge
  // Of all events of the wanted ranks: the first begin, the last end. begin > end: none.
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  SeenCategories categories;  // of all events of the wanted ranks, where some are asked for

  void see(std::int64_t from_ns, std::int64_t to_ns);
  void count(Verdict verdict) { ++events[static_cast<std::size_t>(verdict)]; }
  [[nodiscard]] std::uint64_t left_out() const;
};

// An input's own among the verdicts of those that were read with it; null: none is asked for.
struct JudgedInput {
  std::shared_ptr<const Verdicts> verdicts;
  std::size_t index = 0;

  [[nodiscard]] std::size_t memory_bytes() const {
    return verdicts ? verdicts->memory_bytes(index) : 0;
  }
};

// What EventRules say, as a merge asks for it. An input is read twice where it is not enough to
// look at each event alone.
class EventSelection : public trace::Selection {
 public:
  // `asked`: the window in the user's words, for the merged file. `on_read`: told the bytes of the
  // first readings, as they come.
  EventSelection(EventRules rules, trace::JsonObject asked,
                 std::function<void(std::uint64_t bytes)> on_read = {});

  [[nodiscard]] bool has_rank(std::int64_t rank) const override { return rules_.has_rank(rank); }
  [[nodiscard]] bool has_all_ranks() const override { return rules_.ranks.empty(); }
  void see(const std::vector<trace::MergeInput>& inputs) override {
    inputs_ = &inputs;
    chains_.reset();
  }
  std::unique_ptr<trace::EventFilter> filter_of(const trace::MergeInput& input) override;
  [[nodiscard]] trace::JsonObject description() const override;
  [[nodiscard]] trace::JsonObject left_out() const override;
  [[nodiscard]] std::uint64_t clipped() const override { return counts_.clipped; }

  [[nodiscard]] const SelectionCounts& counts() const { return counts_; }

 private:
  JudgedInput judged(const trace::MergeInput& input);
  void judge(const trace::MergeInput& input);
  void judge_all_before_window();
  void carry(const std::shared_ptr<Verdicts>& verdicts,
             const PairedEvents::CarriedCounters& counters);

  const EventRules rules_;
  const trace::JsonObject asked_;
  const std::function<void(std::uint64_t)> on_read_;
  SelectionCounts counts_;
  const std::vector<trace::MergeInput>* inputs_ = nullptr;
  std::optional<InputChains> chains_;          // of these, where they are asked for
  std::map<std::string, JudgedInput> judged_;  // by path: those that were read before their turn
  // Of each counter the last value before the window, of all inputs.
  struct Carried {
    std::shared_ptr<Verdicts> verdicts;
    PairedEvents::Carried last;
  };
  std::unordered_map<std::uint64_t, Carried> carried_;
  bool has_carried_ = false;
};

// "time 12, category 3", of what was left out; or empty.
std::string in_words(const SelectionCounts& counts);

}  // namespace traceagent::tools
