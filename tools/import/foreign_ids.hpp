#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace traceagent::tools {

// What wrote a trace, as far as its content tells.
// `traceagent`: ours, which another program has saved again.
enum class ForeignKind : std::uint8_t {
  chrome,
  kineto,
  composer,
  tensorflow,
  sagemaker,
  traceagent
};
std::string_view name_of(ForeignKind kind);

// The "pid" of other people's processes in a merged file. A rank of theirs has several (host, one
// for each GPU, "Spans"), which are "0" in every rank's file. Each stays a process of its own, with
// the threads and counters that it has: to squeeze them into the rank's process would need new
// thread ids, and mix counters of one name. trace::rank_of_pid() tells their rank as it does of our
// own, and no claim of ours reaches first_claim.
//
// The number comes from what the process is called: cycles of a rank, read one by one or together,
// have one lane for it. Where another has that number already, the next free one: what a merged
// file says of its processes is to be told first (keep()). May be asked from several threads.
class ForeignPids {
 public:
  static constexpr std::int64_t first_claim = 1000;
  static constexpr std::int64_t claims = 1000;
  // Behind them; pids stay below 2^31, which is where Perfetto's end.
  static constexpr std::int64_t claim_of_rank = first_claim + claims;
  static constexpr std::int64_t claim_of_crowd = claim_of_rank + 1;

  // Of a rank's own process in a file whose pids are ranks: such a file is read beside others of
  // its ranks, and which of them is first must not decide.
  static std::int64_t pid_of_rank(std::int64_t rank);
  // Of all those of a rank that have none of their own.
  static std::int64_t pid_of_crowd(std::int64_t rank);

  // `process` as the file has it: 4037, "Spans"; one number and one text of the same digits are
  // one. Nothing: the rank has as many others as there are numbers.
  std::optional<std::int64_t> pid(std::int64_t rank, ForeignKind kind, std::string_view process);
  // Of a process that is in a file of ours already, which another program may have saved again;
  // what is no pid of others' is passed over. `identity`: JSON string without quotes.
  void keep(std::int64_t pid, std::string_view identity);

  // What tells it from the rank's others, and stands in the file: PyTorch/4037, likewise.
  static std::string identity(ForeignKind kind, std::string_view process);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> pids_;  // by rank and identity
  std::map<std::int64_t, std::set<std::int64_t>> taken_;               // of each rank
};

// The id of a flow or of asynchronous events, unique over the ranks of a merged file: below 2^53,
// where doubles end, and apart from the ids of our own arrows. `id` as it stands in the file.
std::uint64_t foreign_id(std::int64_t rank, std::string_view id);

// Of a JSON number that was computed: 1 of 1.0; of anything else all.
std::string_view without_zero_fraction(std::string_view json);

// The number of a JSON integer (1.0 is one), or of a string of decimal digits.
bool whole_number(std::string_view json, std::int64_t& number);

}  // namespace traceagent::tools
