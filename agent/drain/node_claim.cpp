#include "agent/drain/node_claim.hpp"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "agent/event/hash.hpp"
#include "agent/event/high_descriptor.hpp"

namespace traceagent::drain {
namespace {

constexpr std::string_view target_prefix = "node-";

std::string claim_suffix(std::string_view run_key) {
  return ".claim-" + std::to_string(event::hash_text(run_key));
}

// Another run's claim of the name, which may have been killed over it, is no concern of this one's.
std::string link_beside(const std::string& file, std::string_view run_key) {
  const std::size_t name = file.rfind('/') + 1;  // npos + 1 is 0
  return file.substr(0, name) + "." + file.substr(name) + claim_suffix(run_key);
}

std::string target_of(std::int64_t node_rank, std::string_view claimant) {
  std::string target = std::string(target_prefix) + std::to_string(node_rank);
  if (!claimant.empty()) target.append("-").append(claimant);
  return target;
}

// Empty: it is gone.
std::string read_target(const std::string& link) {
  std::array<char, 128> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// -1: it is gone, or says nothing.
std::int64_t node_of(const std::string& link) {
  const std::string target = read_target(link);
  std::string_view text = target;
  std::int64_t node = -1;
  if (!text.starts_with(target_prefix)) return node;
  text.remove_prefix(target_prefix.size());
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

}  // namespace

std::int64_t nodes_of(std::int64_t world_size, std::int64_t local_world_size) noexcept {
  if (local_world_size < 1 || world_size % local_world_size != 0) return world_size;
  return world_size / local_world_size;
}

NodeClaim::NodeClaim(const std::string& node_file, std::string_view run_key, std::int64_t node_rank,
                     std::int64_t nodes, std::string_view claimant)
    : link_(link_beside(node_file, run_key)) {
  const std::string target = target_of(node_rank, claimant);
  // Again where its holder has removed it between the two calls.
  constexpr int most_attempts = 10;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    is_ours_ = may_go_ = symlink(target.c_str(), link_.c_str()) == 0;
    if (is_ours_ || errno != EEXIST) return;
    const std::int64_t holder = node_of(link_);
    if (holder < 0) continue;
    if (holder >= nodes && unlink(link_.c_str()) == 0) continue;
    // This node's: of another container that merges too, or of one that was killed over it.
    is_ours_ = holder == node_rank;
    if (!is_ours_) other_node_ = holder;
    return;
  }
}

NodeClaim::~NodeClaim() {
  if (may_go_) unlink(link_.c_str());
}

std::set<std::string> links_of_node(const std::string& folder, std::string_view name_begin,
                                    std::string_view run_key, std::int64_t node_rank,
                                    std::string_view claimant) {
  std::set<std::string> links;
  const event::Folder entries = event::open_folder_high(folder.c_str());
  if (entries == nullptr) return links;
  const std::string begin = "." + std::string(name_begin);
  const std::string end = claim_suffix(run_key);
  const std::string target = target_of(node_rank, claimant);
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    const std::string path = folder + "/" + entry->d_name;
    if (name.starts_with(begin) && name.ends_with(end) && read_target(path) == target) {
      links.insert(path);
    }
  }
  return links;
}

}  // namespace traceagent::drain
