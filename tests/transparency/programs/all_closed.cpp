// Closes every descriptor after the first call and uses all numbers for files of its own.
#include <fcntl.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  use_device();
  // Who closes what is not his own must not do it while libraries are being opened.
  usleep(200'000);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  const int file = open("own-file", O_RDWR | O_CREAT | O_TRUNC, 0644);
  for (int fd = 4; fd < 1024; ++fd) dup2(file, fd);
  call_often(200);
  use_device();
  usleep(60'000);
  say("position %ld, calls %d\n", static_cast<long>(lseek(file, 0, SEEK_CUR)), call_often());
  for (int fd = 4; fd < 1024; ++fd) {
    if (write(fd, ".", 1) != 1) return 9;
  }
  say_state("end");
  return 3;
}
