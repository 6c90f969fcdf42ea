#include "tools/import/import_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "agent/ring/owner.hpp"
#include "agent/trace/file_problem.hpp"
#include "tools/command_line.hpp"
#include "tools/ending_signals.hpp"

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

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// No link is followed: where others may write, one to another folder may stand here by now.
int open_folder(const char* path) noexcept {
  return ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

std::vector<std::string> names_in(DIR* folder) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) names.emplace_back(entry->d_name);
  return names;
}

// By two threads: where files are large their pages take a while to be given back.
void remove_files_of(const std::string& path) noexcept try {
  const int descriptor = open_folder(path.c_str());
  if (descriptor < 0) return;
  const Folder folder(fdopendir(descriptor));
  if (folder == nullptr) {
    ::close(descriptor);
    return;
  }
  const std::vector<std::string> names = names_in(folder.get());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      unlinkat(descriptor, names[i].c_str(), 0);
    }
  };
  std::optional<std::thread> second;
  if (names.size() > 1) second.emplace(work);
  work();
  if (second) second->join();
} catch (...) {
  // No memory, or no thread: who removes the folder does it.
}

// As large as the traces that were read, and hidden.
void say_left(const std::string& folder, const std::error_code& error) noexcept try {
  say("import: " + folder + ": " + error.message() + ": remove it by hand");
} catch (...) {
  // No memory for the line.
}

}  // namespace

std::string make_import_folder(const std::string& parent, std::string& problem) {
  const std::string in = parent.empty() ? "." : parent;
  remove_abandoned_folders(in);
  std::string folder = in + "/" + name_begin + std::to_string(getpid()) + "-XXXXXX";
  if (!make_guarded_folder(folder)) {
    problem = trace::file_problem("cannot make a folder", folder, errno);
    folder.clear();
  }
  return folder;
}

void remove_import_folder(const std::string& folder) noexcept {
  if (folder.empty()) return;
  remove_files_of(folder);
  std::error_code error;
  fs::remove_all(folder, error);
  unguard_folder(folder);
  if (error) say_left(folder, error);
}

}  // namespace traceagent::tools
