// A traced program that becomes a traced program, twice.
#include <cstdlib>
#include <string>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  const int number = argv[1] != nullptr ? std::atoi(argv[1]) : 0;
  say("life %d: %d\n", number, call_often());
  if (number < 2) {
    const std::string next = std::to_string(number + 1);
    execl("/proc/self/exe", "exec_itself", next.c_str(), nullptr);
    return 9;
  }
  say_state("last life");
  return 3;
}
