// A umask that takes every right, and its own files made under it.
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  umask(0777);
  call_often();
  close(open("own-file", O_WRONLY | O_CREAT, 0666));
  say_state("end");
  return 3;
}
