#include "agent/trace/settled_sources.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view older_states_member = "older_states";

// An imported file, as it stands in the header of an input.
struct Source {
  std::size_t input = 0;
  std::string* json = nullptr;
  std::string mark;
  std::string name;
  std::optional<std::int64_t> told = {};
  std::optional<std::int64_t> named = {};
  bool has_clock = true;
  bool is_changed = false;

  void tell(std::int64_t rank, std::optional<std::int64_t> in_place_of) {
    is_changed = is_changed || told != rank || named != in_place_of;
    told = rank;
    named = in_place_of;
  }
};

// The other members as they are.
std::string with_identity(const Source& source) {
  constexpr std::array replaced = {told_rank_member, named_rank_member, has_clock_member};
  JsonObject object;
  for_each_member(*source.json, [&](std::string_view name, std::string_view value) {
    if (std::find(replaced.begin(), replaced.end(), name) != replaced.end()) return;
    object.add(name, JsonValue::raw(std::string(value)));
  });
  if (source.told) object.add(told_rank_member, *source.told);
  if (source.named) object.add(named_rank_member, *source.named);
  if (!source.has_clock) object.add(has_clock_member, false);
  return object.text();
}

class Sources {
 public:
  explicit Sources(std::vector<MergeInput>& inputs) : inputs_(inputs) {
    older_states_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) add_input(i);
  }

  void settle() {
    settle_clocks();
    std::map<std::string, std::vector<Source*>> files;
    for (Source& source : sources_) {
      files[source.has_clock ? source.mark : source.mark + "\n" + source.name].push_back(&source);
    }
    for (const auto& [mark, file] : files) {
      settle_renumbered(file);
      settle_untold(file);
    }
    write_back();
  }

 private:
  void add_input(std::size_t i) {
    TraceHeader& header = inputs_[i].header;
    if (header.sources.empty() && !inputs_[i].imported_mark.empty()) {
      add(i, inputs_[i].source);
      const auto states = member(header.distributed_info, older_states_member);
      for_each_element(states.value_or(""),
                       [&](std::string_view state) { older_states_[i].emplace_back(state); });
    }
    for (std::string* const json : pointers_to(header.sources)) add(i, *json);
    for (std::string* const json : pointers_to(older_states_[i])) add(i, *json);
  }

  static std::vector<std::string*> pointers_to(std::vector<std::string>& texts) {
    std::vector<std::string*> pointers;
    for (std::string& text : texts) pointers.push_back(&text);
    return pointers;
  }

  void add(std::size_t input, std::string& json) {
    const auto content = string_member(json, content_member);
    if (!content) return;
    const std::string_view name = string_member(json, "name").value_or("");
    const std::size_t run = content->find('#');
    const bool is_run = run != content->npos;
    const std::string_view file = name.substr(0, is_run ? name.rfind('#') : name.npos);
    Source source{input, &json, std::string(content->substr(0, run)),
                  without_gz(std::string(file))};
    source.told = integer_member(json, told_rank_member);
    source.named = integer_member(json, named_rank_member);
    source.has_clock = member(json, has_clock_member) != "false";
    sources_.push_back(std::move(source));
  }

  // Of one text: an earlier version did not say so.
  void settle_clocks() {
    std::set<std::string> without_clock;
    for (const Source& source : sources_) {
      if (!source.has_clock) without_clock.insert(source.mark);
    }
    for (Source& source : sources_) {
      if (!source.has_clock || !without_clock.contains(source.mark)) continue;
      source.has_clock = false;
      source.is_changed = true;
    }
  }

  // In one input the user has told another rank than the file does, which in the other one counts.
  static void settle_renumbered(const std::vector<Source*>& file) {
    for (const Source* const by_user : file) {
      if (!by_user->told || !by_user->named) continue;
      for (Source* const other : file) {
        const bool is_by_name = !other->named && other->told == by_user->named;
        if (is_by_name && other->input != by_user->input)
          other->tell(*by_user->told, by_user->named);
      }
    }
  }

  // Which of several ranks that are told nobody knows: the first.
  static void settle_untold(const std::vector<Source*>& file) {
    const Source* told = nullptr;
    for (const Source* const each : file) {
      if (each->told && (told == nullptr || *each->told < *told->told)) told = each;
    }
    if (told == nullptr) return;
    for (Source* const each : file) {
      if (!each->told) each->tell(*told->told, told->named);
    }
  }

  void write_back() {
    std::set<std::size_t> changed;
    for (const Source& source : sources_) {
      if (!source.is_changed) continue;
      *source.json = with_identity(source);
      changed.insert(source.input);
    }
    for (const std::size_t i : changed) write_older_states(i);
  }

  void write_older_states(std::size_t i) {
    if (older_states_[i].empty()) return;
    JsonArray states;
    for (const std::string& state : older_states_[i]) states.add(JsonValue::raw(state));
    JsonObject info;
    for_each_member(
        inputs_[i].header.distributed_info, [&](std::string_view name, std::string_view value) {
          info.add(name, name == older_states_member ? JsonValue(states)
                                                     : JsonValue::raw(std::string(value)));
        });
    inputs_[i].header.distributed_info = info.text();
  }

  std::vector<MergeInput>& inputs_;
  std::vector<std::vector<std::string>> older_states_;  // by input
  std::vector<Source> sources_;
};

}  // namespace

void settle_sources(std::vector<MergeInput>& inputs) { Sources(inputs).settle(); }

}  // namespace traceagent::trace
