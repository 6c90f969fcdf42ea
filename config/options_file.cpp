#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "config/yaml_entries.hpp"

namespace traceagent::config {
namespace {

constexpr std::size_t largest_file_bytes = 1 << 20;

FileText refused(std::string problem) { return {{}, std::move(problem)}; }

FileText refused_by_system(int error) { return refused(std::generic_category().message(error)); }

FileText read_all(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return refused_by_system(errno);
  // A pipe would hang the job or give its text to one rank only.
  if (!S_ISREG(status.st_mode)) return refused("not a regular file");
  std::string text(largest_file_bytes + 1, '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = read(file, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused_by_system(errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  if (used > largest_file_bytes) return refused("larger than 1 MiB");
  text.resize(used);
  return {std::move(text), {}};
}

}  // namespace

FileText read_options_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refused_by_system(errno);
  FileText result = read_all(file);
  close(file);
  return result;
}

}  // namespace traceagent::config
