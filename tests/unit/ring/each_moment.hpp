#pragma once
// A function as a kill may find it: stopped after each of its instructions, in a child.

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace traceagent {

// Calls `look` after each of them: what it looks at must be shared memory. False where nobody may
// be traced here.
template <typename Run, typename Look>
bool at_each_moment(const Run& run, const Look& look) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool may_be_traced = WIFSTOPPED(status);
  while (WIFSTOPPED(status)) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    look();
  }
  EXPECT_TRUE(!may_be_traced || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  return may_be_traced;
}

}  // namespace traceagent
