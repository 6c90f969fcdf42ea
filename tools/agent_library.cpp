#include "tools/agent_library.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;
constexpr char name[] = "libtraceagent.so";
constexpr char own_program[] = "/proc/self/exe";

std::vector<fs::path> beside_us(std::error_code& error) {
  const fs::path prefix = fs::read_symlink(own_program, error).parent_path().parent_path();
  std::vector<fs::path> paths;
  if (error) return paths;
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    paths.push_back(prefix / folder / name);
  }
  return paths;
}

// The first that can be read; else what is wrong with the first that is there, or that none is.
AgentLibrary first_of(const std::vector<fs::path>& paths) {
  AgentLibrary library;
  for (const fs::path& path : paths) {
    if (access(path.c_str(), R_OK) == 0) return {path.string(), ""};
    const int error_number = errno;
    if (error_number != ENOENT && error_number != ENOTDIR && library.problem.empty()) {
      library.problem = "library cannot be read: " + path.string() + ": " +
                        std::generic_category().message(error_number) +
                        ": let it be read, or set TRACEAGENT_LIBRARY to one that can be";
    }
  }
  if (library.problem.empty()) {
    library.problem = "library not found: " + paths.front().string() +
                      ": build it, or set TRACEAGENT_LIBRARY to where it is";
  }
  return library;
}

// The loader splits LD_PRELOAD at both and has no way to quote them.
bool can_be_preloaded(const std::string& path) {
  return path.find_first_of(": ") == std::string::npos;
}

}  // namespace

AgentLibrary find_agent_library() {
  const char* named = std::getenv("TRACEAGENT_LIBRARY");
  const bool is_named = named != nullptr && *named != '\0';
  std::error_code error;
  const std::vector<fs::path> paths =
      is_named ? std::vector<fs::path>{fs::absolute(named, error)} : beside_us(error);
  if (error) {
    return {"", "library not looked for: " + std::string(is_named ? named : own_program) + ": " +
                    error.message() + ": set TRACEAGENT_LIBRARY to its whole path"};
  }
  AgentLibrary library = first_of(paths);
  if (!library.path.empty() && !can_be_preloaded(library.path)) {
    library.problem = "library cannot be preloaded: " + library.path +
                      ": move it to a path without spaces and colons";
  }
  return library;
}

std::string joined_preload(const std::string& library, std::string_view present) {
  std::string joined = library;
  while (!present.empty()) {
    const std::size_t size = std::min(present.find_first_of(": "), present.size());
    const std::string_view entry = present.substr(0, size);
    if (!entry.empty() && entry != library) {
      joined.append(":").append(entry);
    }
    present.remove_prefix(std::min(size + 1, present.size()));
  }
  return joined;
}

}  // namespace traceagent::tools
