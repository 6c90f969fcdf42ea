// system and popen, which run shells.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  say("system %d\n", WEXITSTATUS(std::system("echo in a shell; exit 7")));
  char line[100] = {};
  std::FILE* shell = popen("echo through a pipe | tr a-z A-Z", "r");
  const bool got = std::fgets(line, sizeof line, shell) != nullptr;
  say("popen %d %s%d\n", got ? 1 : 0, line, WEXITSTATUS(pclose(shell)));
  say("then %d\n", call_often());
  say_state("end");
  return 0;
}
