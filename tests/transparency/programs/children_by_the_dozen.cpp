// A shell job: many short processes, most of which never call.
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  std::vector<pid_t> children;
  for (int i = 0; i < 24; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (i % 4 == 0) _exit(call_often(2) != 0 ? i : 99);
      execl("/bin/sh", "sh", "-c", "exit 1", nullptr);
    }
    children.push_back(child);
  }
  int sum = 0;
  for (const pid_t child : children) sum += wait_for(child);
  say("sum of codes %d\n", sum);
  say_state("end");
  return 0;
}
