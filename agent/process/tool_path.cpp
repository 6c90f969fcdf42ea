#include "agent/process/tool_path.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "agent/event/error_text.hpp"
#include "agent/event/whole_path.hpp"

namespace traceagent::process {
namespace {

std::string_view folder_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

bool is_lib(std::string_view folder) noexcept {
  return folder.ends_with("/lib") || folder.ends_with("/lib64");
}

// The folder that holds lib/ and bin/.
std::optional<std::string> prefix_of(std::string_view library) {
  const std::string_view folder = folder_of(library);
  if (is_lib(folder)) return std::string(folder_of(folder));
  const std::string_view above = folder_of(folder);
  if (folder.ends_with("-linux-gnu") && is_lib(above)) return std::string(folder_of(above));
  return std::nullopt;
}

// A group with the number of the owner is the owner's alone (umask 002 makes all its files so).
bool may_others_write(const struct stat& facts) noexcept {
  return (facts.st_mode & S_IWOTH) != 0 ||
         ((facts.st_mode & S_IWGRP) != 0 && facts.st_gid != facts.st_uid);
}

// Why what lies there may be another user's work, or "".
std::string why_not_believed(const std::string& path, mode_t type, uid_t owner) {
  struct stat facts {};
  // Links are not followed: where one leads, others may write.
  if (lstat(path.c_str(), &facts) != 0) return path + ": " + event::error_text(errno);
  if ((facts.st_mode & S_IFMT) != type) {
    return path + " is not a " + (type == S_IFDIR ? "folder" : "file") +
           " itself: put the tools there, not links";
  }
  if (facts.st_uid != 0 && facts.st_uid != geteuid() && facts.st_uid != owner) {
    return path + " belongs to another user (" + std::to_string(facts.st_uid) +
           "), so it is not run: chown it, or use a library that lies in a folder of your own";
  }
  if (may_others_write(facts)) {
    return path + " may be written by others, so it is not run: chmod go-w " + path;
  }
  return {};
}

}  // namespace

ToolPath tool_beside(const std::string& library, uid_t owner, const char* name) {
  const auto prefix = prefix_of(library);
  if (!prefix) {
    return {"", library + " does not lie in lib/ or lib/<machine>/ beside a bin/ with " + name +
                    ": use the library where it was built, or copy both folders"};
  }
  const std::string bin = *prefix + "/bin";
  std::string tool = bin + "/" + name;
  if (access(tool.c_str(), X_OK) != 0) {
    return {"", tool + ", beside the library: " + event::error_text(errno) +
                    ": build it, or copy " + bin + " with the library"};
  }
  for (const auto& [path, type] : {std::pair(prefix->empty() ? "/" : *prefix, S_IFDIR),
                                   std::pair(bin, S_IFDIR), std::pair(tool, S_IFREG)}) {
    std::string why = why_not_believed(path, static_cast<mode_t>(type), owner);
    if (!why.empty()) return {"", std::move(why)};
  }
  return {std::move(tool), ""};
}

ToolPath find_tool(const char* name) {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&tool_beside), &self) == 0) {
    return {"", "where the library lies is not known"};
  }
  const event::WholePath library(self.dli_fname);
  struct stat facts {};
  if (library.c_str() == nullptr || stat(library.c_str(), &facts) != 0) {
    return {"", std::string(self.dli_fname) + ": " + event::error_text(errno) +
                    ": name the library by its whole path in LD_PRELOAD"};
  }
  // A job that has gone elsewhere finds another's library by a path that is not whole.
  const uid_t owner = self.dli_fname[0] == '/' ? facts.st_uid : geteuid();
  return tool_beside(library.c_str(), owner, name);
}

}  // namespace traceagent::process
