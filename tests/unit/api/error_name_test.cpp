// The tables of errors against the headers they were made from.
#include "agent/api/error_name.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace traceagent::api {
namespace {

#define ERROR(code, name) static_assert(code == static_cast<int>(name));
#if CUDART_VERSION >= 13000  // older ones lack the latest
#include "agent/api/cuda_driver_errors.def"
#include "agent/api/cuda_runtime_errors.def"
#endif
#include "agent/api/nccl_errors.def"
#undef ERROR

TEST(ErrorNames, are_of_the_api_that_was_called) {
  EXPECT_EQ(error_name("cuda_runtime", 2), "cudaErrorMemoryAllocation");
  EXPECT_EQ(error_name("cuda_driver", 2), "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(error_name("nccl", 2), "ncclSystemError");
  EXPECT_EQ(error_name("cuda_runtime", 999), "cudaErrorUnknown");
  for (const int code : {0, -1, 998, 1 << 30}) EXPECT_EQ(error_name("cuda_runtime", code), "");
  EXPECT_EQ(error_name("user_annotation", 2), "");
}

}  // namespace
}  // namespace traceagent::api
