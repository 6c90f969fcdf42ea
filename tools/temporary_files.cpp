#include "tools/temporary_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "agent/ring/owner.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

// Of ".<name>.json.tmp-<pid>" and ".<name>.json.gz.tmp-<pid>-<n>"; 0: it is no such name.
std::uint32_t writer_of(std::string_view name) {
  constexpr std::string_view mark = ".tmp-";
  const std::size_t at = name.rfind(mark);
  if (at == std::string_view::npos || !name.starts_with('.')) return 0;
  const std::string_view traced = name.substr(0, at);
  if (!traced.ends_with(".json") && !traced.ends_with(".json.gz")) return 0;
  const std::string digits(name.substr(at + mark.size()));
  const bool is_number = !digits.empty() && digits.front() != '-' &&
                         digits.find_first_not_of("0123456789-") == std::string::npos;
  return is_number ? static_cast<std::uint32_t>(std::strtoul(digits.c_str(), nullptr, 10)) : 0;
}

bool is_abandoned(const fs::path& path) {
  constexpr std::time_t day_s = 24 * 60 * 60;
  const std::uint32_t writer = writer_of(path.filename().string());
  struct stat facts {};
  return writer != 0 && lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         facts.st_uid == geteuid() && std::time(nullptr) - facts.st_mtime > day_s &&
         !ring::process_lives(writer, ring::start_time_of(writer));
}

}  // namespace

std::size_t remove_old_temporaries(const std::string& folder) {
  std::size_t removed = 0;
  std::error_code error;
  fs::directory_iterator at(folder.empty() ? "." : folder, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (is_abandoned(at->path()) && unlink(at->path().c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace traceagent::tools
