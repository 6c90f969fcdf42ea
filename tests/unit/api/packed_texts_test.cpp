#include "agent/api/packed_texts.hpp"

#include <gtest/gtest.h>

#include "agent/api/function.hpp"

namespace traceagent::api {
namespace {

constexpr auto texts = packed([] {
  return std::array<std::string_view, 4>{"one", "", "three", "four"};
});
static_assert(texts.size() == 4 && texts[1].empty());

TEST(PackedTexts, are_what_they_were_made_of_and_end_as_literals_do) {
  EXPECT_EQ(texts[0], "one");
  EXPECT_EQ(texts[2], "three");
  EXPECT_EQ(texts[3], "four");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(*(texts[i].data() + texts[i].size()), '\0') << i;
  }
}

TEST(FunctionNames, of_each_function_are_found_again) {
  for (std::size_t i = 1; i < function_count; ++i) {
    const FunctionName name = name_of(static_cast<Function>(i));
    EXPECT_EQ(find_function(name.symbol), static_cast<Function>(i)) << name.symbol;
    EXPECT_EQ(*(name.symbol.data() + name.symbol.size()), '\0');
    EXPECT_FALSE(name.shown.empty() || name.category.empty()) << name.symbol;
  }
}

TEST(FunctionNames, say_what_consumers_count) {
  EXPECT_EQ(name_of(Function::__cudaLaunchKernel).shown, "cudaLaunchKernel");
  EXPECT_EQ(name_of(Function::cudaMemcpyAsync_ptsz).symbol, "cudaMemcpyAsync_ptsz");
  EXPECT_EQ(name_of(Function::cudaMemcpyAsync_ptsz).shown, "cudaMemcpyAsync");
  EXPECT_EQ(name_of(Function::cudaMemcpyAsync_ptsz).category, "cuda_runtime");
  EXPECT_EQ(name_of(Function::ncclAllReduce).category, "nccl");
  EXPECT_EQ(name_of(Function::cuLaunchKernel_v1).category, "cuda_driver");
  EXPECT_EQ(name_of(Function::nvtx_range).category, "user_annotation");
}

TEST(FunctionNames, of_no_function_are_empty) {
  EXPECT_TRUE(name_of(Function::none).symbol.empty());
  EXPECT_TRUE(name_of(Function::count).symbol.empty());
  for (const char* text : {"", "cuda", "zzz", "cudaMallocAsync2"}) {
    EXPECT_EQ(find_function(text), Function::none) << text;
  }
}

}  // namespace
}  // namespace traceagent::api
