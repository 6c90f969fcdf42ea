#pragma once
// Where a finished file is copied to: the options output.remote and output.merged_remote.
//
//   s3://bucket/prefix/    the file's name is appended; so it is to any text that does not end
//   s3://bucket/a.json     in .json or .json.gz, the latter with {rank} and {batch}. Slashes before
//                          the key are dropped.
//   /folder, file:///folder
//                          likewise
//   exec:COMMAND {}        split into words here, at spaces, with quotes and backslashes as in a
//                          shell, before any name is put in; no shell ever sees it. {} is the
//                          file's path, put at the end where no word has it.

#include <string>
#include <string_view>
#include <vector>

#include "config/name_template.hpp"

namespace traceagent::config {

inline constexpr std::string_view command_scheme = "exec:";

struct RemoteTarget {
  std::string place;               // s3://bucket/key, or an absolute path
  std::vector<std::string> words;  // or a command; {} stands for the file's path
  std::string problem;             // or what is wrong
};

// `file_name`: as it is in the output folder. A name that ends in .gz puts .gz to a target that
// lacks it. Throws std::bad_alloc alone.
RemoteTarget remote_target(std::string_view remote_template, const NameVariables& variables,
                           const std::string& file_name);

// For people: of a command its first word alone, since others may be a password.
std::string shown_target(std::string_view remote_template);

// What is wrong with a template whatever the variables are; empty: fine. `of_rank_files`: one that
// names no rank, or no cycle, would have them overwrite each other.
std::string remote_problem(std::string_view remote_template, bool of_rank_files);

}  // namespace traceagent::config
