#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace traceagent::tools {

// Who wrote a file of SageMaker Debugger's, by its name:
//   <us of its last event>_<process>_<writer>.json
// with "4422-algo-1" for a process: 4422 is its rank, or its pid where it had none, and algo-1 its
// host. A process closes a file and opens the next again and again, and has files of its own for
// each writer: pythontimeline, model_timeline, horovod_timeline, smdataparallel_timeline.
struct SageMakerName {
  std::string process;
  std::optional<std::int64_t> number;  // 4422
  std::string host;                    // algo-1
  std::string writer;                  // pythontimeline
};

// Nothing where the name is another's.
std::optional<SageMakerName> sagemaker_name(std::string_view path);

// What sorts hosts by the number at the end of their names: algo-2 before algo-10.
std::pair<std::string_view, std::int64_t> place_of_host(std::string_view host);

// A TensorFlow profile that it has taken, whose times count from the profile's begin: a file
// FOLDER/plugins/profile/<time>/<host>.trace.json.gz, with an empty one beside it that tells whose
// it is, FOLDER/<process>_<us of its begin>_<us of its end>.metadata.
struct SageMakerProfile {
  SageMakerName name;
  std::int64_t begin_ns = 0;
};

// Nothing where the file is another's, or several processes may have written it.
std::optional<SageMakerProfile> sagemaker_profile(const std::string& path);

// The ranks of such processes: all files of one are of one rank.
class SageMakerRanks {
 public:
  void add(const SageMakerName& name) { names_.emplace(name.process, name); }
  // It has this rank, whatever its name says; the first to say so counts.
  void add_known(const std::string& process, std::int64_t rank) {
    ranks_.try_emplace(process, rank);
  }
  // For each that is not known. Where the numbers that can be ranks differ, and 0 is among them,
  // they are the ranks, since no process has 0 for a pid. The others, and all where they are not,
  // have the next that are not in `taken`, in the order of hosts and numbers, algo-2 before
  // algo-10. Those go into `taken`.
  void find(std::set<std::int64_t>& taken);

  [[nodiscard]] std::size_t count() const { return names_.size(); }
  // After find().
  [[nodiscard]] std::int64_t rank(const std::string& process) const { return ranks_.at(process); }
  [[nodiscard]] bool is_number(const SageMakerName& name) const {
    return has_rank_in_name(name) && name.number == rank(name.process);
  }

 private:
  [[nodiscard]] bool numbers_are_ranks() const;
  [[nodiscard]] bool has_rank_in_name(const SageMakerName& name) const;

  std::map<std::string, SageMakerName> names_;
  std::map<std::string, std::int64_t> ranks_;
  bool numbers_are_ranks_ = false;
};

}  // namespace traceagent::tools
