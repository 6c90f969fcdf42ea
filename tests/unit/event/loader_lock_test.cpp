#include "agent/event/loader_lock.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace traceagent::event {
namespace {

struct Object {
  std::string name;
  ElfW(Addr) address;
  const ElfW(Phdr) * parts;
  int count;
  bool operator==(const Object&) const = default;
};

int collect(dl_phdr_info* info, std::size_t, void* objects) {
  static_cast<std::vector<Object>*>(objects)->push_back(
      {info->dlpi_name, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum});
  return 0;
}

std::vector<Object> loaded() {
  std::vector<Object> objects;
  dl_iterate_phdr(collect, &objects);
  return objects;
}

std::vector<Object> without_lock() {
  std::vector<Object> objects;
  visit_stuck_objects(collect, &objects);
  return objects;
}

bool learn() {
  const void* const data = dlsym(RTLD_DEFAULT, "_rtld_global");
  ElfW(Sym)* symbol = nullptr;
  Dl_info object{};
  if (data == nullptr ||
      dladdr1(data, &object, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0) {
    return false;
  }
  learn_loader_lock(data, symbol->st_size);
  return true;
}

// A thread that goes through the list, and stays there.
class LingeringWalk {
 public:
  LingeringWalk() : thread_([this] { dl_iterate_phdr(linger, this); }) {
    while (!is_inside_.load()) usleep(1000);
  }
  ~LingeringWalk() {
    may_leave_.store(true);
    thread_.join();
  }

 private:
  static int linger(dl_phdr_info*, std::size_t, void* self) {
    auto& walk = *static_cast<LingeringWalk*>(self);
    walk.is_inside_.store(true);
    while (!walk.may_leave_.load()) usleep(1000);
    return 1;
  }
  std::atomic<bool> is_inside_{false}, may_leave_{false};
  std::thread thread_;
};

template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(LoaderLock, IsStuckInAChildThatWasForkedBesideAWalkAlone) {
  ASSERT_TRUE(learn());
  EXPECT_FALSE(is_loader_stuck());
  EXPECT_EQ(in_child([] { return is_loader_stuck() ? 1 : 0; }), 0);
  {
    const LingeringWalk walk;
    EXPECT_FALSE(is_loader_stuck());
    EXPECT_EQ(in_child([] {
                errno = ERANGE;
                return is_loader_stuck() && errno == ERANGE ? 1 : 0;
              }),
              1);
  }
  EXPECT_EQ(in_child([] { return is_loader_stuck() ? 1 : 0; }), 0);
}

// A walk of the child's own threads ends.
TEST(LoaderLock, IsNotStuckWhileAThreadOfTheChildHasIt) {
  ASSERT_TRUE(learn());
  EXPECT_EQ(in_child([] {
              const LingeringWalk walk;
              return is_loader_stuck() ? 1 : 0;
            }),
            0);
}

TEST(LoaderLock, TheSameObjectsAreFoundWithoutIt) {
  const std::vector<Object> with_lock = loaded();
  const std::vector<Object> found = without_lock();
  ASSERT_GT(with_lock.size(), 3u);
  ASSERT_EQ(found.size(), with_lock.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, with_lock[i].name);
    EXPECT_EQ(found[i].address, with_lock[i].address) << found[i].name;
    EXPECT_EQ(found[i].count, with_lock[i].count) << found[i].name;
    EXPECT_EQ(found[i].parts, with_lock[i].parts) << found[i].name;
  }
}

TEST(LoaderLock, AWalkWithoutItEndsWhereItIsToldTo) {
  int visited = 0;
  EXPECT_EQ(
      visit_stuck_objects([](dl_phdr_info*, std::size_t,
                             void* count) { return ++*static_cast<int*>(count) == 2 ? 7 : 0; },
                          &visited),
      7);
  EXPECT_EQ(visited, 2);
}

TEST(LoaderLock, IsNotFoundInOtherData) {
  const std::vector<char> zeros(4096);
  learn_loader_lock(zeros.data(), zeros.size());
  const LingeringWalk walk;
  EXPECT_EQ(in_child([] { return is_loader_stuck() ? 1 : 0; }), 0);
}

}  // namespace
}  // namespace traceagent::event
