#include "tools/import/sagemaker_names.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
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

SageMakerName name_of_process(std::string_view process, std::string_view writer) {
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

// From "4422-algo-1_1594662605425850_1594662605625850.metadata".
std::optional<SageMakerProfile> profile_of(std::string_view name) {
  constexpr std::string_view end = ".metadata";
  constexpr std::int64_t most_us = std::numeric_limits<std::int64_t>::max() / 1000;
  if (!name.ends_with(end)) return std::nullopt;
  name.remove_suffix(end.size());
  const std::size_t last = name.rfind('_');
  const std::size_t first = last == 0 || last == name.npos ? name.npos : name.rfind('_', last - 1);
  std::int64_t begin_us = 0;
  const bool is_such = first != name.npos && first > 0 &&
                       whole_number(name.substr(first + 1, last - first - 1), begin_us) &&
                       begin_us > 0 && begin_us <= most_us;
  if (!is_such) return std::nullopt;
  return SageMakerProfile{name_of_process(name.substr(0, first), "trace"), begin_us * 1000};
}

}  // namespace

std::optional<SageMakerProfile> sagemaker_profile(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::string_view end = ".trace.json.gz";
  std::error_code error;
  const fs::path file = fs::absolute(path, error);
  const fs::path profile = file.parent_path().parent_path();
  const std::string name = file.filename().string();
  if (error || !name.ends_with(end) || profile.filename() != "profile" ||
      profile.parent_path().filename() != "plugins") {
    return std::nullopt;
  }
  const std::string host = name.substr(0, name.size() - end.size());
  std::vector<SageMakerProfile> all, of_host;
  fs::directory_iterator at(profile.parent_path().parent_path(), error);
  for (const fs::directory_iterator last; !error && at != last; at.increment(error)) {
    const auto found = profile_of(at->path().filename().string());
    if (!found) continue;
    all.push_back(*found);
    if (found->name.host == host) of_host.push_back(*found);
  }
  if (all.size() == 1) return all.front();
  return of_host.size() == 1 ? std::optional(of_host.front()) : std::nullopt;
}

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
    return name_of_process(name.substr(0, name.size() - end.size()), writer);
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
