#include "agent/trace/file_problem.hpp"

#include <cerrno>
#include <cstring>

namespace traceagent::trace {

namespace {

const char* remedy(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose another output.folder or output.gzip";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose an output.folder that this user may write to";
    case ENOENT:
    case ENOTDIR:
      return "make the folder, or choose another output.folder";
    case EEXIST:
      return "set output.overwrite (tools: --force), or choose another name";
    case ENAMETOOLONG:
      return "choose a shorter output.filename";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "free some memory";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    default:
      return "check the file system, or choose another output.folder";
  }
}

}  // namespace

std::string file_problem(const char* what, const std::string& path, int error_number) {
  char storage[128] = "";
  const char* why = strerror_r(error_number, storage, sizeof storage);
  std::string problem = what;
  problem.append(": ").append(path).append(": ").append(why).append(": ");
  return problem.append(remedy(error_number));
}

}  // namespace traceagent::trace
