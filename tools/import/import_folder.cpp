#include "tools/import/import_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

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

constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP};
// What the handler removes; empty: nothing.
std::array<char, PATH_MAX> guarded_folder{};
std::atomic<bool> is_guarded = false;

// In a handler: readdir() allocates, its system call does not.
void unlink_files_of(int folder) {
  alignas(8) static char entries[4096];
  long bytes = 0;
  while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < bytes;) {
      unsigned short size = 0;
      std::memcpy(&size, entries + at + offsetof(dirent64, d_reclen), sizeof size);
      unlinkat(folder, entries + at + offsetof(dirent64, d_name), 0);
      at += size;
    }
  }
}

// Other threads may make files meanwhile; in a folder that is gone they cannot.
void remove_and_end(int signal_number) {
  for (int tries = 0; is_guarded && tries < 1000; ++tries) {
    const int folder = open_folder(guarded_folder.data());
    if (folder < 0) break;
    unlink_files_of(folder);
    ::close(folder);
    if (rmdir(guarded_folder.data()) == 0) break;
  }
  ::signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// A signal that is ignored (nohup) stays so.
void guard(const std::string& folder) {
  if (folder.size() >= guarded_folder.size()) return;
  std::memcpy(guarded_folder.data(), folder.c_str(), folder.size() + 1);
  is_guarded = true;
  struct sigaction action {};
  action.sa_handler = remove_and_end;
  for (const int each : ending_signals) sigaddset(&action.sa_mask, each);
  for (const int each : ending_signals) {
    struct sigaction before {};
    if (sigaction(each, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(each, &action, nullptr);
    }
  }
}

void unguard(const std::string& folder) {
  if (!is_guarded || folder != guarded_folder.data()) return;
  is_guarded = false;
  for (const int each : ending_signals) {
    struct sigaction before {};
    if (sigaction(each, nullptr, &before) == 0 && before.sa_handler == remove_and_end) {
      ::signal(each, SIG_DFL);
    }
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
  } else {
    guard(folder);
  }
  return folder;
}

void remove_import_folder(const std::string& folder) noexcept {
  if (folder.empty()) return;
  remove_files_of(folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  unguard(folder);
}

}  // namespace traceagent::tools
