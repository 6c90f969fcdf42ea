#include "tools/import/sagemaker_names.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_ids.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view profile_end = ".trace.json.gz";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_in_front(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

auto place_of(const SageMakerName& name) {
  return std::tuple(place_of_host(name.host), name.number.value_or(-1), name.process);
}

bool may_be_rank(const SageMakerName& name) {
  return name.number && *name.number < trace::pids_of_claim;
}

// algo-1 and algo-2, and not what the same machine calls itself elsewhere.
bool are_neighbours(const std::string& a, const std::string& b) {
  return a != b && place_of_host(a).first == place_of_host(b).first;
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

// Those that have a profile in FOLDER/plugins/profile.
std::set<std::string> hosts_of_profiles(const fs::path& folder) {
  std::set<std::string> hosts;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator last; !error && at != last; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(profile_end)) hosts.insert(name.substr(0, name.size() - profile_end.size()));
  }
  return hosts;
}

}  // namespace

// Its name up to the number at the end, and that; -1: it has none.
std::pair<std::string_view, std::int64_t> place_of_host(std::string_view host) {
  std::size_t digits = host.size();
  while (digits > 0 && is_digit(host[digits - 1])) --digits;
  std::int64_t number = -1;
  whole_number(host.substr(digits), number);
  return {host.substr(0, digits), number};
}

std::optional<SageMakerProfile> sagemaker_profile(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::absolute(path, error);
  const fs::path profile = file.parent_path().parent_path();
  const std::string name = file.filename().string();
  if (error || !name.ends_with(profile_end) || profile.filename() != "profile" ||
      profile.parent_path().filename() != "plugins") {
    return std::nullopt;
  }
  const std::string host = name.substr(0, name.size() - profile_end.size());
  std::vector<SageMakerProfile> all, of_host;
  fs::directory_iterator at(profile.parent_path().parent_path(), error);
  for (const fs::directory_iterator last; !error && at != last; at.increment(error)) {
    const auto found = profile_of(at->path().filename().string());
    if (!found) continue;
    all.push_back(*found);
    if (found->name.host == host) of_host.push_back(*found);
  }
  if (of_host.size() == 1) return of_host.front();
  // TensorFlow and SageMaker may call the host by two names: where there is one of each.
  const bool is_only = of_host.empty() && all.size() == 1 &&
                       !are_neighbours(all.front().name.host, host) &&
                       hosts_of_profiles(profile).size() <= 1;
  return is_only ? std::optional(all.front()) : std::nullopt;
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
                       return !may_be_rank(each.second) ||
                              numbers.insert(*each.second.number).second;
                     }) &&
         numbers.contains(0);
}

bool SageMakerRanks::has_rank_in_name(const SageMakerName& name) const {
  return numbers_are_ranks_ && may_be_rank(name);
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
  const auto set = [&](const SageMakerName& name, std::int64_t rank) {
    taken.insert(rank);
    ranks_.emplace(name.process, rank);
  };
  for (const SageMakerName* const name : unknown) {
    if (has_rank_in_name(*name)) set(*name, *name->number);
  }
  std::int64_t free = 0;
  for (const SageMakerName* const name : unknown) {
    if (has_rank_in_name(*name)) continue;
    while (taken.contains(free)) ++free;
    set(*name, free);
  }
}

}  // namespace traceagent::tools
