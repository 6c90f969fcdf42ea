#include "agent/trace/file_problem.hpp"

#include <cerrno>
#include <cstring>

#include "agent/event/fork_hold.hpp"

namespace traceagent::trace {

namespace {

Wording wording = Wording::of_job;

struct Remedies {
  const char* space;
  const char* permission;
  const char* folder;
  const char* exists;
  const char* long_name;
  const char* other;
};

constexpr Remedies of_job = {"free some space, or choose another output.folder or output.gzip",
                             "choose an output.folder that this user may write to",
                             "make the folder, or choose another output.folder",
                             "choose another name (of rank files: put {batch} into "
                             "output.filename, which names each cycle), give each run an "
                             "output.folder of its own (traces/{run_name}), "
                             "or set output.overwrite, which replaces it",
                             "choose a shorter output.filename",
                             "check the file system, or choose another output.folder"};

constexpr Remedies of_merge = {"free some space, or choose another output (-o)",
                               "choose an output (-o) that this user may write to",
                               "make the folder, or choose another output (-o)",
                               "give --force, or choose another output (-o)",
                               "choose a shorter name (-o)",
                               "check the file system, or choose another output (-o)"};

constexpr Remedies of_reading = {"check the file system",     "let this user read it",
                                 "give a file that is there", "check the file system",
                                 "give it a shorter name",    "check the file system"};

const char* remedy(int error_number, const Remedies& remedies) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return remedies.space;
    case EACCES:
    case EPERM:
    case EROFS:
      return remedies.permission;
    case ENOENT:
    case ENOTDIR:
      return remedies.folder;
    case EEXIST:
      return remedies.exists;
    case ENAMETOOLONG:
      return remedies.long_name;
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "free some memory";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    default:
      return remedies.other;
  }
}

std::string problem_of(const char* what, const std::string& path, int error_number,
                       const Remedies& remedies) {
  char storage[128] = "";
  const char* why = nullptr;
  {
    const event::ForkHold hold;  // as in event::error_text()
    why = strerror_r(error_number, storage, sizeof storage);
  }
  std::string problem = what;
  problem.append(": ").append(path).append(": ").append(why).append(": ");
  return problem.append(remedy(error_number, remedies));
}

}  // namespace

void word_file_problems(Wording whose) { wording = whose; }

std::string file_problem(const char* what, const std::string& path, int error_number) {
  return problem_of(what, path, error_number, wording == Wording::of_merge ? of_merge : of_job);
}

std::string reading_problem(const std::string& path, int error_number) {
  return problem_of("cannot read a trace", path, error_number, of_reading);
}

}  // namespace traceagent::trace
