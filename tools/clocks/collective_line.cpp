#include "tools/clocks/collective_line.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "agent/event/hash.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

namespace {

// GPU times come to the host's clock by a conversion of the driver's, whose error nobody states.
constexpr std::int64_t device_time_error_ns = 500;

double number(std::string_view text, double otherwise) {
  double value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

struct Args {
  std::string_view collective;
  std::string_view communicator;
  std::string_view group;
  std::string_view ranks;
  std::string_view splits;
  std::int64_t sequence = -1;
  std::int64_t size = 0;
  std::int64_t elements = -1;
  std::int64_t root = -1;
  std::int64_t sends_to = -1;
  std::int64_t receives_from = -1;
  std::int64_t own_rank = -1;
  double error_us = 0;
  bool replayed = false;
};

void read_arg(std::string_view name, std::string_view value, Args& args) {
  const auto integer = [&](std::int64_t& to) {
    to = trace::parse_integer(unquoted(value)).value_or(to);
  };
  if (name == "Collective name") {
    args.collective = unquoted(value);
  } else if (name == "comm hash") {
    args.communicator = unquoted(value);
  } else if (name == "Process Group Name") {
    args.group = unquoted(value);
  } else if (name == "Process Group Ranks") {
    args.ranks = unquoted(value);
  } else if (name == "In split size") {
    args.splits = unquoted(value);
  } else if (name == "Seq") {
    integer(args.sequence);
  } else if (name == "Group size") {
    integer(args.size);
  } else if (name == "In msg nelems") {
    integer(args.elements);
  } else if (name == "root") {
    integer(args.root);
  } else if (name == "Dst Rank") {
    integer(args.sends_to);
  } else if (name == "Src Rank") {
    integer(args.receives_from);
  } else if (name == "comm rank") {
    integer(args.own_rank);
  } else if (name == "time error (us)") {
    args.error_us = number(value, 0);
  } else if (name == "graph node id" || name == "graph id") {
    args.replayed = args.replayed || unquoted(value) != "0";
  }
}

enum class Kind { unknown, all_to_all, from_root, to_root, send, receive };

// NCCL's names as we write them, PyTorch's, and theirs with "_base", "_coalesced" and the like.
Kind kind_of(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') {
      plain += c;
    }
  }
  for (const char* all : {"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}) {
    if (plain.starts_with(all)) {
      // Of unequal parts some may be empty, and then nobody waits for them.
      return plain.starts_with("alltoallv") ? Kind::unknown : Kind::all_to_all;
    }
  }
  if (plain == "broadcast" || plain == "scatter") {
    return Kind::from_root;
  }
  if (plain == "send" || plain == "recv") {
    return plain == "send" ? Kind::send : Kind::receive;
  }
  return plain == "reduce" || plain == "gather" ? Kind::to_root : Kind::unknown;
}

std::optional<CollectiveKey> key_of(const Args& args) {
  CollectiveKey key{.sequence = static_cast<std::uint64_t>(args.sequence)};
  if (!args.communicator.empty()) {
    const std::string_view digits =
        args.communicator.substr(args.communicator.starts_with("0x") ? 2 : 0);
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), key.communicator, 16);
    // 0: not known, in files of before 2026-12.
    return read.ec == std::errc() && key.communicator != 0 ? std::optional(key) : std::nullopt;
  }
  // In ours the name is a number of the process's own: without its hash a communicator is not
  // known.
  if (args.group.empty() || args.ranks.empty()) {
    return std::nullopt;
  }
  // PyTorch's: the name alone may be another group's on other ranks.
  key.communicator = event::hash_bytes(args.group.data(), args.group.size(),
                                       event::hash_bytes(args.ranks.data(), args.ranks.size()));
  return key;
}

// Ours: the n-th send meets the n-th receive of the same two ranks. In PyTorch's, peers are named
// by other numbers than a communicator's.
std::optional<CollectiveLine> point_to_point(const Args& args, CollectiveKey key, Kind kind) {
  const std::int64_t peer = kind == Kind::send ? args.sends_to : args.receives_from;
  if (args.communicator.empty() || peer < 0 || args.own_rank < 0) {
    return std::nullopt;
  }
  const std::int64_t from = kind == Kind::send ? args.own_rank : peer;
  const std::int64_t to = kind == Kind::send ? peer : args.own_rank;
  // Apart from the communicator's collectives, and from those of other ranks.
  key.communicator =
      event::combine(event::combine(key.communicator, static_cast<std::uint64_t>(from) + 1),
                     static_cast<std::uint64_t>(to) + 1);
  return CollectiveLine{
      .key = key, .tells_start = kind == Kind::send, .tells_end = kind == Kind::receive};
}

std::optional<CollectiveLine> collective(const Args& args, const CollectiveKey& key, Kind kind) {
  if (kind != Kind::all_to_all && (args.root < 0 || args.own_rank < 0)) {
    return std::nullopt;
  }
  const bool is_root = args.root == args.own_rank;
  CollectiveLine line{.key = key};
  line.tells_start = kind == Kind::all_to_all || is_root == (kind == Kind::from_root);
  line.tells_end = kind == Kind::all_to_all || is_root != (kind == Kind::from_root);
  return line;
}

bool is_usable(const Args& args) {
  const bool has_parts = !args.splits.empty() && args.splits != "[]";
  return args.sequence >= 0 && args.size > 1 && args.elements != 0 && !args.replayed && !has_parts;
}

std::optional<CollectiveLine> read(std::string_view event) {
  std::string_view category;
  std::string_view arguments;
  double duration_us = -1;
  trace::for_each_member(event, [&](std::string_view name, std::string_view value) {
    if (name == "cat") {
      category = unquoted(value);
    } else if (name == "dur") {
      duration_us = number(value, -1);
    } else if (name == "args") {
      arguments = value;
    }
  });
  if (category != "kernel" || !(duration_us >= 0 && duration_us < 1e12)) {
    return std::nullopt;
  }
  Args args;
  trace::for_each_member(arguments, [&](std::string_view name, std::string_view value) {
    read_arg(name, value, args);
  });
  const Kind kind = kind_of(args.collective);
  const auto key = key_of(args);
  if (!is_usable(args) || !key || kind == Kind::unknown) {
    return std::nullopt;
  }
  std::optional<CollectiveLine> line = kind == Kind::send || kind == Kind::receive
                                           ? point_to_point(args, *key, kind)
                                           : collective(args, *key, kind);
  if (line) {
    line->duration_ns = std::llround(duration_us * 1000.0);
    line->error_ns = device_time_error_ns + std::llround(args.error_us * 1000.0);
  }
  return line;
}

}  // namespace

std::optional<CollectiveLine> collective_line(std::string_view line) {
  // Nearly all lines end here. Without the quote before it, which every line is full of: the search
  // goes from one S to the next.
  return line.find("Seq\":") == std::string_view::npos ? std::nullopt : read(line);
}

}  // namespace traceagent::tools
