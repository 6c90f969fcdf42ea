#include "agent/door/kernel_names.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

// Registrations are for the process's life: each test takes handles of its own.
const void* next_handle() {
  static std::uintptr_t last = 0x100000;
  return reinterpret_cast<const void*>(last += 16);
}

TEST(KernelNames, FindWhatWasRegistered) {
  Recording recording;
  const void* stub = next_handle();
  register_kernel(stub, "_Z6kernelv");
  const std::uint32_t offset = kernel_name(stub);
  EXPECT_EQ(recording.ring().name(offset), "_Z6kernelv");
  EXPECT_EQ(kernel_name(stub), offset) << "stored once";
}

TEST(KernelNames, AliasHasTheSameName) {
  Recording recording;
  const void* stub = next_handle();
  const void* handle = next_handle();
  register_kernel(stub, "aliased");
  alias_kernel(handle, stub);
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), "aliased");
  alias_kernel(handle, handle);
  alias_kernel(next_handle(), next_handle());
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), "aliased");
}

TEST(KernelNames, UnknownOnesHaveNone) {
  Recording recording;
  const void* stub = next_handle();
  EXPECT_EQ(kernel_name(stub), 0u);
  EXPECT_EQ(kernel_name(stub), 0u);
  EXPECT_EQ(kernel_name(nullptr), 0u);
}

TEST(KernelNames, RegisteredAfterItsFirstLaunchIsFoundAtTheNext) {
  Recording recording;
  const void* stub = next_handle();
  EXPECT_EQ(kernel_name(stub), 0u);
  register_kernel(stub, "late");
  EXPECT_EQ(recording.ring().name(kernel_name(stub)), "late");
}

TEST(KernelNames, AnAddressThatIsUsedAgainHasItsNewName) {
  Recording recording;
  const void* stub = next_handle();
  register_kernel(stub, "of_a_closed_library");
  EXPECT_EQ(recording.ring().name(kernel_name(stub)), "of_a_closed_library");
  register_kernel(stub, "of_the_next_library");
  EXPECT_EQ(recording.ring().name(kernel_name(stub)), "of_the_next_library");
}

// The names lie in the library: after dlclose they are no memory any more.
TEST(KernelNames, GoWithTheirModule) {
  Recording recording;
  const int closed = 0, other = 0;
  const void* launched = next_handle();
  const void* waiting = next_handle();
  const void* others = next_handle();
  std::string name = "of a module that is closed";
  register_kernel(launched, name.c_str(), &closed);
  register_kernel(others, "stays", &other);
  register_kernel(waiting, name.c_str(), &closed);
  const void* handle = next_handle();
  alias_kernel(handle, launched);
  EXPECT_EQ(recording.ring().name(kernel_name(launched)), name);
  forget_kernels(&closed);
  name.assign(name.size(), '?');
  EXPECT_EQ(kernel_name(launched), 0u);
  EXPECT_EQ(kernel_name(waiting), 0u);
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), "of a module that is closed");
  EXPECT_EQ(recording.ring().name(kernel_name(others)), "stays");
  forget_kernels(&closed);
  forget_kernels(nullptr);
  // The module's handle and the kernel's address are used again.
  register_kernel(waiting, "of the next", &closed);
  EXPECT_EQ(recording.ring().name(kernel_name(waiting)), "of the next");
  forget_kernels(&closed);
  EXPECT_EQ(kernel_name(waiting), 0u);
  EXPECT_EQ(recording.ring().name(kernel_name(others)), "stays");
}

// As a job launches it by mistake: CUDA refuses it. The name of what has gone is not touched.
TEST(KernelNames, NoKernelIsNotOneThatHasGone) {
  Recording recording;
  const int closed = 0;
  const void* gone = next_handle();
  std::string name = "of a module that is closed";
  register_kernel(gone, name.c_str(), &closed);
  forget_kernels(&closed);
  name.assign(name.size(), '?');
  const void* handle = next_handle();
  alias_kernel(handle, nullptr);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(kernel_name(nullptr), 0u);
    EXPECT_EQ(kernel_name(handle), 0u);
  }
}

TEST(KernelNames, ManyModulesComeAndGo) {
  Recording recording;
  std::vector<char> modules(3000);
  const void* stub = next_handle();
  for (int round = 0; round < 10; ++round) {
    for (const char& module : modules) register_kernel(stub, "of a module", &module);
    for (const char& module : modules) forget_kernels(&module);
  }
  EXPECT_EQ(kernel_name(stub), 0u);
  register_kernel(stub, "last", &modules[0]);
  EXPECT_EQ(recording.ring().name(kernel_name(stub)), "last");
  forget_kernels(&modules[0]);
}

// Some programs ask for the kernel before each launch: names are copied within a bound.
TEST(KernelNames, AskedForAgainAndAgainIsCopiedOnce) {
  Recording recording;
  const void* handle = next_handle();
  const std::string name(1000, 'k');
  for (int i = 0; i < 100'000; ++i) register_kernel_copied(handle, name.c_str());
  const void* later = next_handle();
  register_kernel_copied(later, "there is still room");
  EXPECT_EQ(recording.ring().name(kernel_name(later)), "there is still room");
  register_kernel_copied(handle, "another kernel");
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), "another kernel");
  register_kernel_copied(handle, name.c_str());
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), name);
}

std::uint64_t lost_names(const Recording& recording) {
  return recording.dropped(ring::DropCause::names_full);
}

std::uint64_t names_bytes(const Recording& recording) {
  return recording.ring().header().names_used.load();
}

// Each step asks its module for each of its kernels; more than a few handles share a place.
TEST(KernelNames, ManyThatAreAskedForBeforeEachLaunchStayKnown) {
  Recording recording(8 << 20);
  constexpr std::size_t kernels = 1000;
  std::vector<const void*> handles(kernels);
  for (const void*& handle : handles) handle = next_handle();
  const auto name_of = [](std::size_t i) { return std::string(300, 'k') + std::to_string(i); };
  std::uint64_t bytes = 0;
  for (int step = 0; step < 1500; ++step) {
    for (std::size_t i = 0; i < kernels; ++i) {
      register_kernel_copied(handles[i], name_of(i).c_str());
      if (step < 2 || step == 1499) {
        ASSERT_EQ(recording.ring().name(kernel_name(handles[i])), name_of(i)) << step;
      }
    }
    if (step == 0) bytes = names_bytes(recording);
  }
  EXPECT_EQ(names_bytes(recording), bytes) << "in the ring once";
  EXPECT_EQ(lost_names(recording), 0u);
}

// A module that is loaded again and again brings the same names under other handles.
TEST(KernelNames, ATextIsCopiedOnceWhateverItsHandle) {
  Recording recording;
  const std::string name(10'000, 'k');
  const void* handle = nullptr;
  for (int i = 0; i < 10'000; ++i) register_kernel_copied(handle = next_handle(), name.c_str());
  EXPECT_EQ(recording.ring().name(kernel_name(handle)), name);
  EXPECT_EQ(lost_names(recording), 0u);
}

TEST(KernelNames, TwoNamesOfOneHandleInTurnAreInTheRingOnce) {
  Recording recording;
  const void* handle = next_handle();
  std::uint64_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    const char* name = i % 2 == 0 ? "of the first module" : "of the second module";
    register_kernel_copied(handle, name);
    EXPECT_EQ(recording.ring().name(kernel_name(handle)), name);
    if (i == 1) bytes = names_bytes(recording);
  }
  EXPECT_EQ(names_bytes(recording), bytes);
}

// A search goes through all that are registered: PyTorch has 50,000.
TEST(KernelNames, WhatFindsNoRoomForItsNameIsNotSearchedAgain) {
  Recording recording;
  for (const std::size_t bytes : {1000, 1}) {
    while (recording.ring().add_name_uncounted(std::string(bytes, 'f')) != 0) {
    }
  }
  const void* stub = next_handle();
  register_kernel(stub, "finds no room");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(kernel_name(stub), 0u);
  EXPECT_EQ(lost_names(recording), 1u) << "each search that finds no room is counted";
  register_kernel(stub, "nor does this one");
  EXPECT_EQ(kernel_name(stub), 0u);
  EXPECT_EQ(lost_names(recording), 2u) << "looked for again where it is another";
}

void fill_cache() {
  for (std::size_t i = 0; i < 2 * kernel_name_cache.size(); ++i) kernel_name(next_handle());
}

TEST(KernelNames, ATableThatIsFullMakesRoomForWhatIsNew) {
  Recording recording(32 << 20);
  fill_cache();
  // Each search stores it anew: it is too long to be interned.
  static const std::string name(5000, 'k');
  std::vector<const void*> stubs(100);
  for (const void*& stub : stubs) register_kernel(stub = next_handle(), name.c_str());
  const std::uint64_t before = names_bytes(recording);
  for (int step = 0; step < 20; ++step) {
    for (const void* stub : stubs) ASSERT_EQ(recording.ring().name(kernel_name(stub)), name);
  }
  // Some displace each other, for a time.
  EXPECT_LT(names_bytes(recording) - before, 130 * name.size());
  register_kernel(stubs[0], "another");
  EXPECT_EQ(recording.ring().name(kernel_name(stubs[0])), "another");
}

TEST(KernelNames, ManyThreadsInAFullTableGetTheNameTheyAskedFor) {
  Recording recording(32 << 20);
  fill_cache();
  constexpr std::size_t kernels = 300;
  static std::array<std::string, kernels> names;
  std::array<const void*, kernels> stubs;
  for (std::size_t i = 0; i < kernels; ++i) {
    names[i] = "kernel " + std::to_string(i);
    register_kernel(stubs[i] = next_handle(), names[i].c_str());
  }
  std::vector<std::thread> running;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    running.emplace_back([&] {
      for (std::size_t i = 0; i < 20 * kernels; ++i) {
        const std::size_t kernel = i * 7 % kernels;
        if (recording.ring().name(kernel_name(stubs[kernel])) != names[kernel]) ++wrong;
        if (i % 10 == 0) kernel_name(reinterpret_cast<const void*>(0x7f0000000000 + i * 4096));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

// In a process of its own: what is full stays so.
void expect_in_a_child(void (*holds)()) {
  EXPECT_EXIT((holds(), _exit(testing::Test::HasFailure() ? 1 : 0)), testing::ExitedWithCode(0),
              "");
}

TEST(KernelNames, WhatFindsNoRoomForItsTextHasNoneAndIsCounted) {
  expect_in_a_child([] {
    Recording recording;
    const void* handle = next_handle();
    register_kernel_copied(handle, "before");
    EXPECT_NE(kernel_name(handle), 0u);
    for (int i = 0; i < 20; ++i) {
      const std::string name = std::to_string(i) + std::string(1 << 20, 'k');
      register_kernel_copied(next_handle(), name.c_str());
    }
    const std::uint64_t lost = lost_names(recording);
    EXPECT_GE(lost, 4u);
    const std::string more(1 << 20, 'm');
    for (int i = 0; i < 3; ++i) register_kernel_copied(handle, more.c_str());
    EXPECT_EQ(kernel_name(handle), 0u) << "the name of the kernel before it";
    EXPECT_EQ(lost_names(recording), lost + 1);
  });
}

TEST(KernelNames, AHandleUsedAgainBeyondAMillionHasNoNameAndIsCounted) {
  expect_in_a_child([] {
    Recording recording;
    const void* launched = next_handle();
    const void* waiting = next_handle();
    const void* kept = next_handle();
    for (const void* handle : {launched, waiting, kept}) register_kernel(handle, "before");
    EXPECT_NE(kernel_name(launched), 0u);
    const void* other = next_handle();
    for (int i = 0; i < 1 << 20; ++i) register_kernel(other, "other");
    const std::uint64_t lost = lost_names(recording);
    EXPECT_EQ(lost, 3u);
    register_kernel(launched, "after");
    register_kernel_copied(waiting, "after");
    EXPECT_EQ(lost_names(recording), lost + 2);
    EXPECT_EQ(kernel_name(launched), 0u) << recording.ring().name(kernel_name(launched));
    EXPECT_EQ(kernel_name(waiting), 0u) << recording.ring().name(kernel_name(waiting));
    EXPECT_EQ(recording.ring().name(kernel_name(kept)), "before");
    forget_kernel_offsets();
    EXPECT_EQ(kernel_name(launched), 0u) << "in a forked child's ring";
  });
}

TEST(KernelNames, ANewRingGetsItsOwnOffsets) {
  const void* stub = next_handle();
  register_kernel(stub, "after_fork");
  {
    Recording parents;
    parents.ring().add_name("something that moves the offsets");
    EXPECT_EQ(parents.ring().name(kernel_name(stub)), "after_fork");
  }
  Recording own;
  EXPECT_EQ(own.ring().name(kernel_name(stub)), "after_fork");
}

TEST(KernelNames, ManyThreadsRegisterAndLaunch) {
  Recording recording(8 << 20);
  constexpr int threads = 4;
  constexpr int each = 3000;
  static std::array<std::array<char, each>, threads> stubs;
  std::vector<std::thread> running;
  std::atomic<int> wrong{0};
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      static const char* const names[] = {"of thread 0", "of thread 1", "of thread 2",
                                          "of thread 3"};
      for (char& stub : stubs[static_cast<std::size_t>(t)]) {
        kernel_name(&stub);
        register_kernel(&stub, names[t]);
        if (recording.ring().name(kernel_name(&stub)) != names[t]) ++wrong;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace traceagent::door
