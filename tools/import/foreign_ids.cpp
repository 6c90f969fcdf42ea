#include "tools/import/foreign_ids.hpp"

#include <charconv>
#include <iterator>

#include "agent/event/hash.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"

namespace traceagent::tools {

namespace {

std::string_view without_quotes(std::string_view json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

// JSON string without quotes: as our writer has it, whatever another made of it.
std::string normal_text(std::string_view escaped) {
  return std::string(without_quotes(trace::JsonValue(trace::unescaped(escaped)).text()));
}

// Likewise. One number and one text of the same digits are one.
std::string plain_name(std::string_view process) {
  std::int64_t number = 0;
  if (whole_number(process, number)) return std::to_string(number);
  return normal_text(without_quotes(process));
}

bool as_hexadecimal(std::string_view text, std::uint64_t& number) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, number, 16);
  return error == std::errc() && at == end;
}

}  // namespace

std::string_view name_of(ForeignKind kind) {
  switch (kind) {
    case ForeignKind::kineto:
      return "PyTorch";
    case ForeignKind::composer:
      return "Composer";
    case ForeignKind::tensorflow:
      return "TensorFlow";
    case ForeignKind::sagemaker:
      return "SageMaker Debugger";
    case ForeignKind::traceagent:
      return "TraceAgent";
    default:
      return "Chrome";
  }
}

std::string_view without_zero_fraction(std::string_view json) {
  const std::size_t point = json.find('.');
  const bool is_zero = point != std::string_view::npos && point + 1 < json.size() &&
                       json.find_first_not_of('0', point + 1) == std::string_view::npos;
  return is_zero && !json.starts_with('"') ? json.substr(0, point) : json;
}

bool whole_number(std::string_view json, std::int64_t& number) {
  const std::string_view text = without_quotes(without_zero_fraction(json));
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && !text.empty();
}

std::int64_t ForeignPids::pid_of_rank(std::int64_t rank) {
  return trace::trace_pid(rank, claim_of_rank);
}

std::int64_t ForeignPids::pid_of_crowd(std::int64_t rank) {
  return trace::trace_pid(rank, claim_of_crowd);
}

std::string ForeignPids::identity(ForeignKind kind, std::string_view process) {
  return std::string(name_of(kind)) + "/" + plain_name(process);
}

std::optional<std::int64_t> ForeignPids::pid(std::int64_t rank, ForeignKind kind,
                                             std::string_view process) {
  std::pair key(rank, identity(kind, process));
  const std::lock_guard lock(mutex_);
  const auto found = pids_.find(key);
  if (found != pids_.end()) return found->second;
  std::set<std::int64_t>& taken = taken_[rank];
  if (std::ssize(taken) == claims) return std::nullopt;
  auto place = static_cast<std::int64_t>(
      event::combine(event::hash_text(plain_name(process)), static_cast<std::uint64_t>(kind)) %
      static_cast<std::uint64_t>(claims));
  while (!taken.insert(place).second) place = (place + 1) % claims;
  const std::int64_t pid = trace::trace_pid(rank, first_claim + place);
  pids_.emplace(std::move(key), pid);
  return pid;
}

void ForeignPids::keep(std::int64_t pid, std::string_view identity) {
  const std::int64_t rank = trace::rank_of_pid(pid);
  const std::int64_t place = pid / trace::pids_of_claim - first_claim;
  if (identity.empty() || pid < 0 || place < 0 || place >= claims) return;
  const std::lock_guard lock(mutex_);
  // Of two that a merged file has under one number, made by an older version, the first has it.
  if (taken_[rank].insert(place).second) pids_.emplace(std::pair(rank, normal_text(identity)), pid);
}

std::uint64_t foreign_id(std::int64_t rank, std::string_view id) {
  constexpr unsigned rank_shift = 36;
  constexpr std::uint64_t rank_mask = 0x1ffff;
  constexpr std::uint64_t is_foreign = std::uint64_t{1} << 35;
  constexpr std::uint64_t is_hashed = std::uint64_t{1} << 34;
  const std::string_view text = without_quotes(id);
  std::int64_t whole = -1;
  std::uint64_t number = 0;
  if (whole_number(id, whole) && whole >= 0) {
    number = static_cast<std::uint64_t>(whole);
  } else if (!as_hexadecimal(text, number)) {
    number = is_hashed | event::hash_text(text);
  }
  const auto of_rank = static_cast<std::uint64_t>(rank);
  if (number < is_hashed && of_rank <= rank_mask)
    return of_rank << rank_shift | is_foreign | number;
  // The rank goes into the hash, so that all other bits are the hash's: among a million large ids
  // (a pointer, a text) of all ranks, two are one by a chance of 1 : 4,500. With 34 bits it was
  // certain.
  const std::uint64_t hash = event::combine(of_rank, number);
  return (hash >> 34 & rank_mask) << rank_shift | is_foreign | is_hashed | (hash & (is_hashed - 1));
}

}  // namespace traceagent::tools
