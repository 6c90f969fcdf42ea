// Its working folder is removed before the first call.
#include <sys/stat.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  mkdir("short-lived", 0700);
  if (chdir("short-lived") != 0 || rmdir("../short-lived") != 0) return 9;
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  return 3;
}
