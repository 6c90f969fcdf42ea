#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/drain/node_claim.hpp"
#include "agent/trace/merge_input.hpp"
#include "tools/import/import.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/trace_files.hpp"

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
}  // namespace CLI

namespace traceagent::tools {

struct ForeignOptions {
  bool strict = false;
  std::vector<std::string> include = {};           // patterns of paths
  std::vector<std::string> include_except = {};    // ranks: what is theirs alone is not included
  std::string include_once = {};                   // a folder, or empty
  std::string claimant = {};                       // for whom: drain::NodeClaim
  std::map<std::string, std::int64_t> ranks = {};  // --rank FILE=N, by path as it was given
};

void add_foreign_options(CLI::App& command, ForeignOptions& options);

// The inputs of a merge that others wrote, as files of our own form beside the output; they go with
// this object.
class ForeignInputs {
 public:
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  ForeignInputs(const TraceFiles& files, const ForeignOptions& options, const std::string& output,
                const Progress& progress);

  // Our own files alone.
  [[nodiscard]] const std::vector<std::string>& own() const { return own_; }
  // Our own files, and what the others became: for trace::merge.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  // An option that cannot be meant: nothing was read; or empty. One line.
  [[nodiscard]] const std::string& usage_problem() const { return usage_problem_; }
  // One line for each file on standard output, its problem on standard error. True: nothing is
  // wrong with any that was named or is a trace.
  bool print() const;
  // Of paths(), what others wrote: the file that each was made of.
  [[nodiscard]] trace::GivenPaths given_paths() const;
  // Of the files that were given: what others wrote under its own name, once, and not under those
  // of the files that it has become.
  [[nodiscard]] std::vector<trace::MergedInput> as_given(
      const std::vector<trace::MergedInput>& inputs) const;
  // Traces were asked for by patterns alone, beside the output that there is already, and there are
  // none.
  [[nodiscard]] bool adds_nothing_to(const std::string& output) const;
  // A merge of paths() was written: what only one node may include (--include-once) is its node's.
  void keep_claims() const;
  // What one of our files says that it lacks (the "file" in its "incomplete") is looked for, or is
  // here: what is wrong with it still is told anew.
  [[nodiscard]] bool settles(std::string_view lacking) const;
  // There is nothing to merge, since no file could be imported.
  [[nodiscard]] bool is_nothing_read() const;
  // --strict, and something is wrong.
  [[nodiscard]] bool is_refused() const;
  // What the output is to say of itself: files that were meant to be traces and could not be read
  // as such, which it is without, and ranks of which it has several processes.
  [[nodiscard]] std::vector<trace::Unfinished> unread() const;

 private:
  [[nodiscard]] std::vector<trace::Unfinished> mixed() const;
  // Why a file that a pattern found is not to be included, or empty.
  [[nodiscard]] std::string exception_of(const ImportedFile& file) const;
  [[nodiscard]] bool is_excepted(const ImportedFile& file) const;
  [[nodiscard]] bool is_surely_of_node(const ImportedFile& file, std::int64_t world_size) const;
  void claim_files_of_nobody(const ForeignOptions& options);
  void add_matching(const std::string& pattern, std::vector<std::string>& foreign);
  void leave_out_same_files(std::vector<std::string>& foreign);
  std::map<std::string, std::int64_t> ranks_by_path(
      const std::vector<std::string>& foreign, const std::map<std::string, std::int64_t>& given);
  [[nodiscard]] bool has_problem(const ImportedFile& file) const;
  // Nothing is wrong with what was taken of it, but nobody knows whether it is all.
  [[nodiscard]] bool may_be_cut(const ImportedFile& file) const;
  void print_file(const ImportedFile& file) const;

  bool strict_;
  bool has_unread_;  // inputs that could not be looked at, which was said
  std::vector<trace::Unfinished> not_looked_at_;
  bool has_patterns_;
  std::vector<std::string> own_;
  std::vector<std::string> named_;  // foreign, and given by name, not found in a folder
  std::set<std::string> matching_;  // foreign, and found by a pattern alone
  EventRules excepted_;             // its ranks
  // Of files found by a pattern that are of no node alone, by path.
  std::map<std::string, std::unique_ptr<drain::NodeClaim>> claims_;
  std::vector<std::string> matchless_;  // patterns
  std::vector<std::string> folders_;    // all that a pattern found
  std::vector<std::string> given_twice_;
  std::string usage_problem_;
  std::unique_ptr<ImportedTraces> imported_;
  std::vector<std::string> paths_;
};

}  // namespace traceagent::tools
