// posix_spawn, with a file action and an attribute.
#include <fcntl.h>
#include <spawn.h>

#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

extern char** environ;

int main() {
  call_often();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT, 0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char name[] = "echo";
  char word[] = "from the child";
  char* words[] = {name, word, nullptr};
  pid_t child = 0;
  const int result = posix_spawn(&child, "/bin/echo", &actions, &attributes, words, environ);
  say("spawn %d, child %d\n", result, wait_for(child));
  char missing[] = "/no/such/program";
  say("missing %d\n", posix_spawn(&child, missing, nullptr, nullptr, words, environ));
  say("then %d\n", call_often());
  say_state("end");
  return 0;
}
