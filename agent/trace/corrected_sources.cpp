#include "agent/trace/corrected_sources.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view mark = "corrected";

// FNV-1a, of what was done before and of all knots.
std::string mark_of(std::string_view earlier, const ClockCorrection& correction) {
  if (correction.is_none()) return std::string(earlier);
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto take = [&hash](std::string_view text) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  };
  take(earlier);
  for (const ClockKnot& knot : correction.knots()) {
    take(" " + std::to_string(knot.at_ns) + " " + std::to_string(knot.offset_ns));
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string mark_in(std::string_view source) {
  return std::string(string_member(source, mark).value_or(""));
}

// A merged file of an earlier version, or one that another program saved again: its times were
// corrected, and it does not say which.
bool is_unmarked(const MergeInput& input) {
  return member(input.header.distributed_info, "clock_corrections") &&
         std::ranges::none_of(input.header.sources, [](const std::string& source) {
           return member(source, mark).has_value();
         });
}

struct Holder {
  const MergeInput* input;
  std::string mark;
};

using Holders = std::map<std::string, Holder>;  // by identity_of

Holders sources_with_marks(const MergeInput& input, const Selection* selection) {
  Holders holders;
  for (const std::string& source : sources_of(input, selection)) {
    holders.emplace(identity_of(source),
                    Holder{&input, mark_of(mark_in(source), input.correction)});
  }
  return holders;
}

// Null: whatever is in both was corrected alike.
const MergeInput* contradictor_of(const Holders& own, const Holders& held) {
  for (const auto& [source, holder] : own) {
    const auto found = held.find(source);
    if (found != held.end() && found->second.mark != holder.mark) return found->second.input;
  }
  return nullptr;
}

}  // namespace

std::string corrected_source(const std::string& source, const ClockCorrection& correction) {
  if (correction.is_none()) return source;
  JsonObject object;
  for_each_member(source, [&object](std::string_view name, std::string_view value) {
    if (name != mark) object.add(name, JsonValue::raw(std::string(value)));
  });
  object.add(mark, JsonValue::raw("\"" + mark_of(mark_in(source), correction) + "\""));
  return object.text();
}

void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection) {
  std::vector<MergeInput*> order;
  for (MergeInput& input : inputs) {
    if (input.is_used() && input.shares_events && !is_unmarked(input)) order.push_back(&input);
  }
  std::ranges::stable_sort(order, {}, [](const MergeInput* each) {
    const auto sources = static_cast<std::int64_t>(each->header.sources.size());
    return std::tuple(!each->header.selections.empty(), -sources);
  });
  Holders held;
  for (MergeInput* const input : order) {
    Holders own = sources_with_marks(*input, selection);
    const MergeInput* const other = contradictor_of(own, held);
    if (other == nullptr) {
      held.merge(own);
      continue;
    }
    const std::string& path = other->report.path;
    input->report.left_out =
        "it shares ranks with " + path + ", and their times were corrected in two ways";
    input->report.problem = "corrected otherwise: " + input->report.path +
                            ": what it shares with " + path +
                            " would be there twice, since clocks were put together in two ways: "
                            "choose again of the rank files";
  }
}

}  // namespace traceagent::trace
