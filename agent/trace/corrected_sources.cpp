#include "agent/trace/corrected_sources.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

// FNV-1a.
std::string hash_of(std::initializer_list<std::string_view> texts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view text : texts) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// Of what was done before and of all knots.
std::string mark_of(const std::string& earlier, const ClockCorrection& correction) {
  if (correction.is_none()) return earlier;
  std::string knots;
  for (const ClockKnot& knot : correction.knots()) {
    knots += " " + std::to_string(knot.at_ns) + " " + std::to_string(knot.offset_ns);
  }
  return hash_of({earlier, knots});
}

bool is_unmarked(const MergeInput& input, const std::string& source) {
  return !input.earlier_mark.empty() && !member(source, corrected_member);
}

std::string mark_before(const MergeInput& input, const std::string& source) {
  return is_unmarked(input, source)
             ? input.earlier_mark
             : std::string(string_member(source, corrected_member).value_or(""));
}

struct Holder {
  const MergeInput* input;
  std::int64_t rank;    // of an imported file that tells none: the one that it got
  std::string base_ns;  // and of one whose clock is not known where it was put
  std::string mark;
  bool is_unmarked;
  std::string mark_of_input;
};

// Where one does not say it, they are alike only where the same was done in both inputs.
bool are_alike(const Holder& a, const Holder& b) {
  if (a.rank != b.rank || a.base_ns != b.base_ns) return false;
  return a.is_unmarked || b.is_unmarked ? a.mark_of_input == b.mark_of_input : a.mark == b.mark;
}

using Holders = std::map<std::string, Holder>;  // by identity_of

Holders sources_with_marks(const MergeInput& input, const Selection* selection) {
  Holders holders;
  for (const std::string& source : sources_of(input, selection)) {
    holders.emplace(identity_of(source),
                    Holder{&input, integer_member(source, "rank").value_or(0),
                           std::string(member(source, "baseTimeNanoseconds").value_or("")),
                           correction_mark(input, source), is_unmarked(input, source),
                           mark_of(input.earlier_mark, input.correction)});
  }
  return holders;
}

struct Contradiction {
  const Holder* own;
  const Holder* held;
};

// Nothing: whatever is in both was corrected alike.
std::optional<Contradiction> contradiction_of(const Holders& own, const Holders& held) {
  for (const auto& [source, holder] : own) {
    const auto found = held.find(source);
    if (found != held.end() && !are_alike(found->second, holder)) {
      return Contradiction{&holder, &found->second};
    }
  }
  return std::nullopt;
}

bool is_any_saved(const MergeInput& input) {
  return std::ranges::any_of(input.header.sources, [](const std::string& source) {
    return string_member(source, corrected_member).value_or("").starts_with(saved_mark);
  });
}

// What is told of two inputs, of which what they share is written in two ways.
struct Difference {
  const char* of_lines;
  const char* what;
  const char* why;
  const char* remedy;
};

Difference difference_of(const Contradiction& found) {
  if (found.own->rank != found.held->rank) {
    return {", and files in it that tell no rank have got other ones",
            "numbered otherwise: ", "files that tell no rank have got other ones",
            "merge the files that both were made of, with --rank"};
  }
  if (is_any_saved(*found.own->input) || is_any_saved(*found.held->input)) {
    return {", and another program has written the one",
            "written otherwise: ", "another program has saved the files of one",
            "choose again of the rank files"};
  }
  return {", and their times were corrected in two ways",
          "corrected otherwise: ", "clocks were put together in two ways",
          "choose again of the rank files"};
}

}  // namespace

std::string earlier_mark_of(const TraceHeader& header) {
  const auto corrections = member(header.distributed_info, "clock_corrections");
  return corrections ? "earlier-" + hash_of({*corrections}) : std::string();
}

std::string correction_mark(const MergeInput& input, const std::string& source) {
  return mark_of(mark_before(input, source), input.correction);
}

bool was_corrected(const MergeInput& input, const Selection* selection) {
  const std::vector<std::string> sources = sources_of(input, selection);
  return std::ranges::any_of(
      sources, [&input](const std::string& source) { return !mark_before(input, source).empty(); });
}

std::string marked_source(const std::string& source, const std::string& mark) {
  JsonObject object;
  for_each_member(source, [&object](std::string_view name, std::string_view value) {
    if (name != corrected_member) object.add(name, JsonValue::raw(std::string(value)));
  });
  return object.add(corrected_member, JsonValue::raw("\"" + mark + "\"")).text();
}

void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection) {
  std::vector<MergeInput*> order;
  for (MergeInput& input : inputs) {
    if (input.is_used() && input.shares_events) order.push_back(&input);
  }
  std::ranges::stable_sort(order, {}, [](const MergeInput* each) {
    const auto sources = static_cast<std::int64_t>(each->header.sources.size());
    return std::tuple(!each->header.selections.empty(), -sources);
  });
  Holders held;
  for (MergeInput* const input : order) {
    Holders own = sources_with_marks(*input, selection);
    const auto found = contradiction_of(own, held);
    if (!found) {
      held.merge(own);
      continue;
    }
    const std::string& path = found->held->input->report.given;
    const Difference difference = difference_of(*found);
    input->report.left_out = "it shares ranks with " + path + difference.of_lines;
    input->report.problem = difference.what + input->report.given + ": what it shares with " +
                            path + " would be there twice, since " + difference.why + ": " +
                            difference.remedy;
  }
}

}  // namespace traceagent::trace
