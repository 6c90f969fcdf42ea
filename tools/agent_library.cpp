#include "tools/agent_library.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;
constexpr char name[] = "libtraceagent.so";

std::vector<fs::path> candidates() {
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  std::vector<fs::path> paths;
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    paths.push_back(prefix / folder / name);
  }
  return paths;
}

// The loader splits LD_PRELOAD at both and has no way to quote them.
bool can_be_preloaded(const std::string& path) {
  return path.find_first_of(": ") == std::string::npos;
}

}  // namespace

AgentLibrary find_agent_library() {
  AgentLibrary library;
  std::vector<fs::path> paths = candidates();
  const char* named = std::getenv("TRACEAGENT_LIBRARY");
  if (named != nullptr && *named != '\0') {
    paths = {fs::absolute(named)};
  }
  for (const fs::path& path : paths) {
    if (access(path.c_str(), R_OK) == 0) {
      library.path = path.string();
      break;
    }
  }
  if (library.path.empty()) {
    library.problem = "library not found: " + paths.front().string() +
                      ": build it, or set TRACEAGENT_LIBRARY to where it is";
  } else if (!can_be_preloaded(library.path)) {
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
