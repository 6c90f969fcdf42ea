// A static binary: no loader looks at the preload. It runs a traced program, which has one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
  std::printf("static\n");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(argv[1], "end_return", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
  return 3;
}
