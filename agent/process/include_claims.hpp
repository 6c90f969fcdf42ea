#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace traceagent::process {

struct Agent;

// Of what other profilers left and is of no node alone, one node's file takes each
// (--include-once): the tool claims it, and gives the claim back where its merge fails. A tool that
// is killed cannot. Made before the tool is started; held by no other thread.
class IncludeClaims {
 public:
  IncludeClaims(const Agent& agent, const std::string& node_path);

  // What the tool is to call itself in its claims: another container of the node may include too.
  [[nodiscard]] const std::string& claimant() const noexcept { return claimant_; }

  // Where the node's file is as it was, what that tool has claimed is nobody's.
  void undo() const;

 private:
  [[nodiscard]] std::set<std::string> links() const;

  const Agent& agent_;
  std::string node_path_;
  const std::string claimant_;
  ino_t node_file_;  // each merge makes a new one
  std::set<std::string> before_;
};

// Where the claims lie.
std::string include_claims_folder(const Agent& agent);

}  // namespace traceagent::process
