#include "tools/import/sagemaker_names.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_ids.hpp"

namespace traceagent::tools {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_in_front(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

// By the number at the end: algo-2 before algo-10.
auto place_of(const SageMakerName& name) {
  const std::string& host = name.host;
  std::size_t digits = host.size();
  while (digits > 0 && is_digit(host[digits - 1])) --digits;
  std::int64_t number = -1;
  whole_number(std::string_view(host).substr(digits), number);
  return std::tuple(host.substr(0, digits), number, name.number.value_or(-1), name.process);
}

}  // namespace

std::optional<SageMakerName> sagemaker_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const std::size_t digits = digits_in_front(name);
  if (digits == 0 || !name.substr(digits).starts_with('_')) return std::nullopt;
  name.remove_prefix(digits + 1);
  for (const std::string_view writer :
       {"pythontimeline", "model_timeline", "horovod_timeline", "smdataparallel_timeline"}) {
    const std::string end = "_" + std::string(writer) + ".json";
    if (!name.ends_with(end) || name.size() == end.size()) continue;
    const std::string_view process = name.substr(0, name.size() - end.size());
    SageMakerName found{std::string(process), {}, std::string(process), std::string(writer)};
    const std::size_t dash = digits_in_front(process);
    std::int64_t number = 0;
    if (dash + 1 < process.size() && process[dash] == '-' &&
        whole_number(process.substr(0, dash), number)) {
      found.number = number;
      found.host = process.substr(dash + 1);
    }
    return found;
  }
  return std::nullopt;
}

bool SageMakerRanks::numbers_are_ranks() const {
  std::set<std::int64_t> numbers;
  return std::all_of(names_.begin(), names_.end(),
                     [&numbers](const auto& each) {
                       const auto& number = each.second.number;
                       return number && *number < trace::pids_of_claim &&
                              numbers.insert(*number).second;
                     }) &&
         numbers.contains(0);
}

void SageMakerRanks::find(std::set<std::int64_t>& taken) {
  numbers_are_ranks_ = numbers_are_ranks();
  for (const auto& [process, rank] : ranks_) taken.insert(rank);
  std::vector<const SageMakerName*> unknown;
  for (const auto& [process, name] : names_) {
    if (!ranks_.contains(process)) unknown.push_back(&name);
  }
  std::sort(unknown.begin(), unknown.end(), [](const SageMakerName* a, const SageMakerName* b) {
    return place_of(*a) < place_of(*b);
  });
  std::int64_t free = 0;
  for (const SageMakerName* const name : unknown) {
    if (!numbers_are_ranks_) {
      while (taken.contains(free)) ++free;
    }
    const std::int64_t rank = numbers_are_ranks_ ? *name->number : free;
    taken.insert(rank);
    ranks_.emplace(name->process, rank);
  }
}

}  // namespace traceagent::tools
