#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// What stays where a run's folder is taken away. First, what is of processes that have begun since
// who does it has looked: a rank may begin, and be killed, while the others' files are merged.
// Those that live find nobody else's notes, and merge once more at their end. Second, rings that
// hold what could not be written: with all claims, since a later run of the same key knows by those
// that this one is dead, and with what tells who recovers of private workers and of an older run's
// files.
class Spared {
 public:
  // `known_rings`: paths of the rings that were seen, this process's own among them, and as such
  // the private workers (peers.hpp). `kept_rings`:
  // of these, those that stay.
  Spared(const RunFolder& folder, std::vector<std::string> known_rings,
         std::vector<std::string> kept_rings, int own_pid)
      : folder_(folder),
        known_rings_(std::move(known_rings)),
        kept_rings_(std::move(kept_rings)),
        own_pid_(own_pid) {}

  // The file of this name in the folder stays.
  bool has(std::string_view name) const noexcept;

 private:
  bool has_claim(std::string_view name) const;
  bool is_known(std::uint32_t pid) const noexcept;
  bool is_known_rank(std::uint32_t rank) const noexcept;
  bool has_private_newcomer() const;
  bool may_be_newcomers(std::string_view ring_name) const;

  const RunFolder& folder_;
  std::vector<std::string> known_rings_;
  std::vector<std::string> kept_rings_;
  int own_pid_;
};

}  // namespace traceagent::process
