#pragma once
// Files that somebody names, into the queues of their folders.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/remote_target.hpp"

namespace traceagent::tools {

struct Delivered {
  std::filesystem::path file;
  config::RemoteTarget target;
};

// A folder stands for its traces.
std::vector<std::filesystem::path> files_of(const std::vector<std::string>& inputs);

// All of them, before anything is queued. Or nothing, and said why.
std::optional<std::vector<Delivered>> targets_of(const std::vector<std::filesystem::path>& files,
                                                 const std::string& to);

// This host's, of a folder.
std::string own_journal(const std::string& folder);

// Throws std::runtime_error.
void queue(const Delivered& file);

}  // namespace traceagent::tools
