#include "agent/process/loaded_libraries.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

constexpr char maps[] =
    "55d0c0000000-55d0c0001000 r--p 00000000 08:01 11                         /usr/bin/python3\n"
    "7f1000000000-7f1000010000 r--p 00000000 08:01 12                         "
    "/opt/cuda/lib/libcudart.so.13.0.96\n"
    "7f1000010000-7f1000020000 r-xp 00010000 08:01 12                         "
    "/opt/cuda/lib/libcudart.so.13.0.96\n"
    "7f2000000000-7f2000010000 r--p 00000000 08:01 13                         /a b/libnccl.so.2\n"
    "7f3000000000-7f3000010000 rw-p 00000000 00:00 0 \n"
    "7f4000000000-7f4000010000 r--p 00000000 08:01 14                         "
    "/opt/cuda/lib/libcublasLt.so.13\n"
    "7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0                          [vdso]\n";

const auto visible = [](std::uint64_t) { return true; };

std::vector<std::string> reasons(const std::vector<WayRound>& ways) {
  std::vector<std::string> found;
  for (const WayRound& way : ways) found.push_back(way.path + ": " + way.why);
  return found;
}

TEST(LoadedLibraries, one_for_each_copy_in_memory) {
  const auto libraries = cuda_libraries_in(maps);
  ASSERT_EQ(libraries.size(), 3U);
  EXPECT_EQ(libraries[0].path, "/opt/cuda/lib/libcudart.so.13.0.96");
  EXPECT_EQ(libraries[0].base, 0x7f1000000000U);
  EXPECT_EQ(libraries[1].path, "/a b/libnccl.so.2");
  EXPECT_EQ(libraries[2].path, "/opt/cuda/lib/libcublasLt.so.13");
  EXPECT_TRUE(cuda_libraries_in("").empty());
  EXPECT_TRUE(cuda_libraries_in("nonsense /libnccl.so.2").empty());
}

TEST(LoadedLibraries, a_wrapped_one_did_not_go_round) {
  const std::vector<WrappedLibrary> wrapped = {
      {"libcudart.so.13", "/opt/cuda/lib/libcudart.so.13.0.96", 0x7f1000000000, 3},
      {"libnccl.so.2", "/a b/libnccl.so.2", 0x7f2000000000, 1}};
  EXPECT_EQ(reasons(ways_round(cuda_libraries_in(maps), wrapped, visible)),
            (std::vector<std::string>{"/opt/cuda/lib/libcublasLt.so.13: own_runtime"}));
}

TEST(LoadedLibraries, a_second_copy_and_an_unknown_major_did) {
  const std::vector<WrappedLibrary> wrapped = {{"libcudart.so.13", "/first", 0x1000, 3}};
  const std::vector<MappedLibrary> mapped = {{"/first/libcudart.so.13", 0x1000},
                                             {"/second/libcudart.so.13.1", 0x2000},
                                             {"/third/libcudart.so.14.0.1", 0x3000},
                                             {"/other/libcudart.so.12.8", 0x4000},
                                             {"/hidden/libcudart.so.12.9", 0x5000}};
  const auto shown = [](std::uint64_t base) { return base != 0x5000; };
  EXPECT_EQ(reasons(ways_round(mapped, wrapped, shown)),
            (std::vector<std::string>{"/second/libcudart.so.13.1: other_copy",
                                      "/third/libcudart.so.14.0.1: unknown_major",
                                      "/hidden/libcudart.so.12.9: namespace"}));
}

TEST(LoadedLibraries, nobody_asked_for_a_function_in_this_program) {
  EXPECT_TRUE(wrapped_libraries().empty());
  trace::JsonObject coverage;
  add_loaded_libraries(coverage);
  EXPECT_EQ(coverage.text(), R"({"libraries": [], "went_round": []})");
}

}  // namespace
}  // namespace traceagent::process
