#include "agent/drain/folders.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "agent/event/error_text.hpp"

namespace traceagent::drain {

std::string make_parent_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) continue;
    const int error = errno;
    struct stat facts {};
    // A parent that may not be written to but is there (EACCES, EROFS) is no problem.
    if (stat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) continue;
    return "output.folder: " + folder + ": " + event::error_text(error) +
           ": set TRACEAGENT_OUTPUT_FOLDER to a writable folder";
  }
  return {};
}

}  // namespace traceagent::drain
