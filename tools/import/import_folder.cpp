#include "tools/import/import_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "agent/ring/owner.hpp"
#include "agent/trace/file_problem.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

constexpr char name_begin[] = ".traceagent-import-";

// A shared folder may hold those of other hosts, whose processes this one does not know.
bool is_abandoned(const fs::path& path) {
  constexpr std::time_t day_s = 24 * 60 * 60;
  const std::string name = path.filename().string();
  if (!name.starts_with(name_begin)) return false;
  const auto writer =
      static_cast<std::uint32_t>(std::strtoul(name.c_str() + sizeof name_begin - 1, nullptr, 10));
  struct stat facts {};
  return writer != 0 && lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == geteuid() && std::time(nullptr) - facts.st_mtime > day_s &&
         !ring::process_lives(writer, ring::start_time_of(writer));
}

void remove_abandoned_folders(const std::string& parent) {
  std::error_code error;
  fs::directory_iterator at(parent, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (is_abandoned(at->path())) remove_import_folder(at->path().string());
  }
}

}  // namespace

std::string make_import_folder(const std::string& parent, std::string& problem) {
  const std::string in = parent.empty() ? "." : parent;
  remove_abandoned_folders(in);
  std::string folder = in + "/" + name_begin + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    problem = trace::file_problem("cannot make a folder", folder, errno);
    folder.clear();
  }
  return folder;
}

void remove_import_folder(const std::string& folder) noexcept {
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace traceagent::tools
