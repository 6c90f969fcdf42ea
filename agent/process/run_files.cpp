#include "agent/process/run_files.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include "agent/event/high_descriptor.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::process {
namespace {

std::vector<RankBegin> begins_of(const trace::TraceHeader& header) {
  if (header.sources.empty()) return {{header.rank, header.base_ns}};
  std::vector<RankBegin> begins;
  for (const std::string& source : header.sources) {
    const auto base_ns = trace::integer_member(source, "baseTimeNanoseconds");
    begins.push_back({trace::integer_member(source, "rank").value_or(header.rank),
                      base_ns.value_or(header.base_ns)});
  }
  return begins;
}

}  // namespace

std::optional<RunFile> run_file(const std::string& path, const std::string& run_key) {
  struct stat facts {};
  // No pipe is opened, no link followed.
  if (lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  trace::TraceReader reader;
  if (!reader.open(path)) return std::nullopt;
  const trace::TraceHeader& header = reader.header();
  if (trace::string_member(header.distributed_info, "run_key") != run_key) return std::nullopt;
  RunFile file;
  file.path = path;
  file.rank = header.rank;
  file.node_rank = trace::integer_member(header.distributed_info, "node_rank").value_or(0);
  file.host = trace::string_member(header.distributed_info, "host").value_or("");
  file.world_size = header.world_size;
  file.base_ns = header.base_ns;
  constexpr std::int64_t second_ns = 1'000'000'000;
  file.modified_ns = facts.st_mtim.tv_sec * second_ns + facts.st_mtim.tv_nsec;
  file.is_merged = !header.sources.empty();
  file.begins = begins_of(header);
  return file;
}

NodeRankFiles::NodeRankFiles(std::string folder, std::string run_key, std::int64_t node_rank,
                             std::int64_t since_ns, std::string host)
    : folder_(std::move(folder)),
      run_key_(std::move(run_key)),
      node_rank_(node_rank),
      since_ns_(since_ns),
      host_(std::move(host)) {}

const std::vector<RunFile>& NodeRankFiles::look() {
  const event::Folder entries = event::open_folder_high(folder_.c_str());
  if (entries == nullptr) return files_;
  while (const dirent* entry = readdir(entries.get())) {
    // Files that are being written are hidden; under its final name each is whole.
    if (entry->d_name[0] != '.') look_at(folder_ + "/" + entry->d_name, entry->d_ino);
  }
  return files_;
}

void NodeRankFiles::look_at(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) == 0) look_at(path, facts.st_ino);
}

void NodeRankFiles::look_at(const std::string& path, ino_t inode) {
  if (!known_.insert({path, inode}).second) return;
  std::optional<RunFile> file = run_file(path, run_key_);
  const bool is_wanted = file && !file->is_merged && file->node_rank == node_rank_ &&
                         (host_.empty() || file->host == host_);
  if (is_wanted && file->base_ns >= since_ns_) files_.push_back(std::move(*file));
}

}  // namespace traceagent::process
