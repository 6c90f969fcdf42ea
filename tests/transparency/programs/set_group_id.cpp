// Executes a copy of itself whose set-group-ID bit makes it another group's (root): the loader then
// preloads nothing and takes its variables away, and the agent's own must do no harm there. Of a
// set-user-ID one it is the same, but that user may not read what the tests' programs are linked
// with.
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

constexpr const char* copy = "set_group_id.copy";
constexpr gid_t other_group = 65534;

bool make_copy() {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  ssize_t moved = 1;
  while (from >= 0 && to >= 0 && moved > 0) moved = sendfile(to, from, nullptr, 1 << 20);
  const bool is_made =
      moved == 0 && fchown(to, static_cast<uid_t>(-1), other_group) == 0 && fchmod(to, 02755) == 0;
  close(from);
  close(to);
  return is_made;
}

int as_other_group() {
  say("secure %lu, group %d, preload %d\n", getauxval(AT_SECURE), static_cast<int>(getegid()),
      std::getenv("LD_PRELOAD") != nullptr ? 1 : 0);
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("of another group");
  return 4;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return as_other_group();
  call_often();
  if (!make_copy()) return 77;
  char word[] = "copy";
  char* const arguments[] = {argv[0], word, nullptr};
  say("copy %d\n", in_child([&arguments]() -> int { return execv(copy, arguments); }));
  unlink(copy);
  say_state("end");
  return 3;
}
