// Where CUPTI is looked for, and which of CUDA's functions are worth a record.

#include "agent/device/cupti_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/device/api_functions.hpp"
#include "agent/device/cupti_problem.hpp"

namespace traceagent::device {
namespace {

using Texts = std::vector<std::string>;

bool comes_before(const Texts& texts, const std::string& a, const std::string& b) {
  const auto first = std::find(texts.begin(), texts.end(), a);
  return first != texts.end() && first < std::find(texts.begin(), texts.end(), b);
}

TEST(CuptiSearch, beside_the_loaded_libcudart_first) {
  const Texts found = cupti_candidates({"/lib/libc.so.6", "/env/lib/libcudart.so.12"}, 13);
  EXPECT_EQ(found[0], "/env/lib/libcupti.so.12");
  EXPECT_TRUE(
      comes_before(found, "/env/lib/../extras/CUPTI/lib64/libcupti.so.12", "libcupti.so.12"));
  EXPECT_TRUE(comes_before(found, "libcupti.so.12", "libcupti.so.13"));
}

TEST(CuptiSearch, in_the_python_packages) {
  const std::string site = "/venv/lib/python3.11/site-packages/nvidia/";
  const Texts found = cupti_candidates({site + "cuda_runtime/lib/libcudart.so.12"}, 0);
  EXPECT_TRUE(comes_before(found, site + "cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12",
                           "libcupti.so.12"));
  const Texts newer = cupti_candidates({site + "cu13/lib/libcudart.so.13"}, 0);
  EXPECT_EQ(newer[0], site + "cu13/lib/libcupti.so.13");
}

TEST(CuptiSearch, by_the_drivers_major_where_cudart_is_static) {
  EXPECT_EQ(cuda_majors({"/lib/libc.so.6"}, 12), (std::vector<int>{12, 11}));
  EXPECT_EQ(cuda_majors({}, 0), (std::vector<int>{13, 12, 11}));
  EXPECT_EQ(cuda_majors({"/a/libcudart.so.11.0", "/b/libcudart-d0da41ae.so.12.4.127"}, 13),
            (std::vector<int>{11, 12, 13}));
  // libcupti.so.12 of a driver that knows 12 alone: a newer one refuses.
  const Texts found = cupti_candidates({}, 12);
  EXPECT_EQ(std::find(found.begin(), found.end(), "libcupti.so.13"), found.end());
}

TEST(CuptiSearch, names_of_cuda_11_hold_the_minor_version) {
  EXPECT_EQ(cupti_names(12), Texts{"libcupti.so.12"});
  EXPECT_EQ(cupti_names(11).front(), "libcupti.so.11.8");
  EXPECT_EQ(cupti_names(11).back(), "libcupti.so.11.0");
}

TEST(ApiFunctionsTest, plain_names) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("__cudaLaunchKernel_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(plain_name("cuLaunchKernelEx"), "cuLaunchKernelEx");
  EXPECT_EQ(plain_name("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(plain_name("cudaMalloc_vast"), "cudaMalloc_vast");
}

TEST(ApiFunctionsTest, uses) {
  for (const char* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchCooperativeKernel",
        "cudaGraphLaunch", "cuGraphLaunch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync",
        "cudaMemsetAsync", "cuMemsetD8Async", "cudaMemcpyPeerAsync"}) {
    EXPECT_EQ(use_of(name), ApiUse::work) << name;
  }
  for (const char* name :
       {"cudaMemcpy", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cuCtxSynchronize",
        "cudaMalloc", "cudaFree", "cuMemAlloc", "cuMemFree", "cudaLaunchHostFunc"}) {
    EXPECT_EQ(use_of(name), ApiUse::other) << name;
  }
  for (const char* name : {"cudaGetDevice", "cudaGetLastError", "cudaStreamIsCapturing",
                           "cudaEventQuery", "cuCtxGetCurrent", "ncclAllReduce", ""}) {
    EXPECT_EQ(use_of(name), ApiUse::none) << name;
  }
  EXPECT_EQ(use_of("cudaStreamBeginCapture"), ApiUse::begin_capture);
  EXPECT_EQ(use_of("cuStreamEndCapture"), ApiUse::end_capture);
}

TEST(CuptiProblem, each_has_its_remedy) {
  CuptiLibrary library;
  library.path = "/x/libcupti.so.13";
  EXPECT_EQ(state_of(cupti_result::multiple_subscribers), CuptiState::taken);
  EXPECT_EQ(state_of(cupti_result::insufficient_privileges), CuptiState::refused);
  EXPECT_EQ(state_of(cupti_result::other_clock), CuptiState::other_clock);
  EXPECT_EQ(state_of(999), CuptiState::failed);
  const auto line = [&](CuptiState state, int result) {
    return problem_line(state, result, library);
  };
  EXPECT_NE(line(CuptiState::absent, 0).find("LD_LIBRARY_PATH"), std::string::npos);
  EXPECT_NE(line(CuptiState::taken, 39).find("another profiler"), std::string::npos);
  EXPECT_NE(line(CuptiState::taken, 39).find("PyTorch's profiler keeps CUPTI until the process "),
            std::string::npos);
  EXPECT_NE(line(CuptiState::other_clock, cupti_result::other_clock).find("clock of its own"),
            std::string::npos);
  EXPECT_NE(line(CuptiState::refused, 35).find("NVreg_RestrictProfilingToAdminUsers=0"),
            std::string::npos);
  EXPECT_NE(line(CuptiState::failed, 14).find("does not fit the driver"), std::string::npos);
  // What CUPTI says of a driver that is older than itself.
  EXPECT_NE(line(CuptiState::failed, 15).find("does not fit the driver"), std::string::npos);
  EXPECT_NE(line(CuptiState::failed, 999).find("999"), std::string::npos);
}

}  // namespace
}  // namespace traceagent::device
