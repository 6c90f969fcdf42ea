#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/import/foreign_file.hpp"
#include "tools/import/known_files.hpp"
#include "tools/import/own_files.hpp"
#include "tools/import/pytorch_name.hpp"

namespace traceagent::tools {

// First and last, each.
using RankRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;

bool is_in(const RankRanges& ranges, std::int64_t rank);

// Ranks of processes that PyTorch's own names tell apart: each of a process's cycles has a file of
// its own.
class PyTorchRanks {
 public:
  // Another name, or a process that has several ranks, tells nothing.
  void add(std::string_view path, std::int64_t rank);
  [[nodiscard]] std::optional<std::int64_t> rank(std::string_view path) const;

 private:
  std::map<PyTorchName, std::set<std::int64_t>> ranks_;
};

// Whose each of the files is: what the user, the content or the name says, what it was when it was
// imported before, or the next number that is free.
class FileRanks {
 public:
  // `others`: never given to a file that has none.
  FileRanks(ForeignFiles& files, const OwnFiles& own, const KnownFiles& known,
            const RankRanges& others)
      : files_(files), own_(own), known_(known), others_(others) {}

  void find();

 private:
  void find_ranks_of_processes(std::set<std::int64_t>& taken);
  [[nodiscard]] PyTorchRanks known_pytorch_ranks() const;
  [[nodiscard]] std::optional<std::int64_t> rank_before(ForeignFile& file) const;
  std::int64_t next_rank(const ForeignFile& file, std::set<std::int64_t>& taken);

  ForeignFiles& files_;
  const OwnFiles& own_;
  const KnownFiles& known_;
  const RankRanges& others_;
  std::int64_t free_ = 0;  // none before it is
};

}  // namespace traceagent::tools
