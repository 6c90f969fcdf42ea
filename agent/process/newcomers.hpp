#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// Processes of the run that have begun since who takes its folder away has looked: a rank may begin
// while the others' files are merged. What is theirs must stay; they find nobody else's notes, and
// merge once more at their end.
class Newcomers {
 public:
  // `known_rings`: paths of the rings that were seen, this process's own among them.
  Newcomers(const RunFolder& folder, std::vector<std::string> known_rings, int own_pid)
      : folder_(folder), known_rings_(std::move(known_rings)), own_pid_(own_pid) {}

  // The file of this name in the folder is the claim, the ring or the list of one that lives, or
  // may.
  bool have(std::string_view name) const noexcept;

 private:
  bool is_known(std::string_view ring_name) const noexcept;
  bool is_known(std::uint32_t pid) const noexcept;
  bool is_known_rank(std::uint32_t rank) const noexcept;
  bool has_living_owner(std::string_view ring_name) const;

  const RunFolder& folder_;
  std::vector<std::string> known_rings_;
  int own_pid_;
};

}  // namespace traceagent::process
