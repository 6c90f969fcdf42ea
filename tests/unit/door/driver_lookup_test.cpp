// What cuGetProcAddress answers with: by name, version and flags.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "agent/door/driver.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/start.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {
namespace {

using api::Function;

constexpr cuuint64_t by_default = CU_GET_PROC_ADDRESS_DEFAULT;
constexpr cuuint64_t legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

TEST(DriverFunction, IsTheAbiOfTheVersion) {
  EXPECT_EQ(driver_function("cuLaunchKernel", 4000, legacy), Function::cuLaunchKernel_v1);
  EXPECT_EQ(driver_function("cuLaunchKernel", 13000, by_default), Function::cuLaunchKernel_v1);
  EXPECT_EQ(driver_function("cuMemAlloc", 12040, legacy), Function::cuMemAlloc_v2);
  EXPECT_EQ(driver_function("cuMemPrefetchAsync", 12010, legacy), Function::cuMemPrefetchAsync_v1);
  EXPECT_EQ(driver_function("cuMemPrefetchAsync", 12020, legacy), Function::cuMemPrefetchAsync_v2);
  EXPECT_EQ(driver_function("cuCtxSynchronize", 12090, legacy), Function::cuCtxSynchronize_v1);
  EXPECT_EQ(driver_function("cuCtxSynchronize", 13000, legacy), Function::cuCtxSynchronize_v2);
  EXPECT_EQ(driver_function("cuMemcpyBatchAsync", 12080, legacy), Function::cuMemcpyBatchAsync_v1);
  EXPECT_EQ(driver_function("cuMemcpyBatchAsync", 13000, legacy), Function::cuMemcpyBatchAsync_v2);
  EXPECT_EQ(driver_function("cuStreamWaitValue64", 11060, legacy),
            Function::cuStreamWaitValue64_v1);
  EXPECT_EQ(driver_function("cuStreamWaitValue64", 11070, legacy),
            Function::cuStreamWaitValue64_v2);
  // One parameter more: a wrapper of the older form would lose it.
  EXPECT_EQ(driver_function("cuLaunchHostFunc", 13000, legacy), Function::cuLaunchHostFunc_v1);
  EXPECT_EQ(driver_function("cuLaunchHostFunc", 13010, legacy), Function::cuLaunchHostFunc_v2);
  EXPECT_EQ(driver_function("cuGetProcAddress", 11030, legacy), Function::cuGetProcAddress_v1);
  EXPECT_EQ(driver_function("cuGetProcAddress", 12000, legacy), Function::cuGetProcAddress_v2);
}

TEST(DriverFunction, IsThePerThreadFormWhereThereIsOne) {
  EXPECT_EQ(driver_function("cuLaunchKernel", 7000, per_thread), Function::cuLaunchKernel_v1_ptsz);
  EXPECT_EQ(driver_function("cuMemcpyHtoD", 12000, per_thread), Function::cuMemcpyHtoD_v2_ptds);
  EXPECT_EQ(driver_function("cuMemAlloc", 12000, per_thread), Function::cuMemAlloc_v2);
  EXPECT_EQ(driver_function("cuLaunchKernelEx", 11060, per_thread),
            Function::cuLaunchKernelEx_v1_ptsz);
}

// What libcudart asks for, 440 times when it starts: each function by the version of its ABI.
TEST(DriverFunction, IsEveryRowAtItsOwnVersion) {
  for (auto i = static_cast<int>(Function::first_driver);
       i < static_cast<int>(Function::nvtx_range); ++i) {
    const auto function = static_cast<Function>(i);
    const api::FunctionName& name = api::name_of(function);
    const bool of_thread = name.symbol.ends_with("_ptsz") || name.symbol.ends_with("_ptds");
    const int since = since_version(function);
    EXPECT_EQ(driver_function(name.shown, since, of_thread ? per_thread : by_default), function)
        << name.symbol << " since " << since;
    EXPECT_NE(driver_function(name.shown, since - 1, of_thread ? per_thread : by_default),
              function);
  }
}

TEST(DriverFunction, IsNoneWhereTheAbiIsNotKnown) {
  EXPECT_EQ(driver_function("cuMemAlloc", 3010, legacy), Function::none) << "addresses of 32 bits";
  EXPECT_EQ(driver_function("cuLaunchKernel", 6050, per_thread), Function::none);
  EXPECT_EQ(driver_function("cuLaunchKernel", 14000, legacy), Function::none);
  EXPECT_EQ(driver_function("cuLaunchKernel", 13000, legacy | per_thread), Function::none);
  EXPECT_EQ(driver_function("cuLaunchKernel", 13000, 4), Function::none);
  EXPECT_EQ(driver_function("cuDeviceGet", 13000, legacy), Function::none);
  EXPECT_EQ(driver_function("cuMemAlloc_v2", 13000, legacy), Function::none);
  EXPECT_EQ(driver_function("", 13000, legacy), Function::none);
}

// A driver whose answers the test writes. libc's functions play them: they are not in this program.
using Asked = std::tuple<std::string, int, cuuint64_t>;
std::map<Asked, void*>* answers;

CUresult real_second(const char* name, void** pointer, int version, cuuint64_t flags,
                     CUdriverProcAddressQueryResult* status) {
  const auto found = answers->find({name, version, flags});
  *pointer = found != answers->end() ? found->second : nullptr;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return found != answers->end() ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult real_first(const char* name, void** pointer, int version, cuuint64_t flags) {
  return real_second(name, pointer, version, flags, nullptr);
}

void* of_libc(const char* name) { return symbol_in_object("libc.so.6", name); }

class DriverLookUp : public testing::Test {
 protected:
  DriverLookUp() {
    answers = &written;
    target(Library::cuda, Function::cuGetProcAddress_v1) = reinterpret_cast<void*>(&real_first);
    target(Library::cuda, Function::cuGetProcAddress_v2) = reinterpret_cast<void*>(&real_second);
  }
  ~DriverLookUp() override {
    driver_is_open = true;
    for (Target& each : targets[static_cast<std::size_t>(Library::cuda)]) each = nullptr;
  }

  void* first(const char* name, int version, cuuint64_t flags) {
    void* answer = nullptr;
    const auto ask = reinterpret_cast<decltype(&real_first)>(
        wrapper_of(Library::cuda, Function::cuGetProcAddress_v1));
    result = ask(name, &answer, version, flags);
    return answer;
  }
  void* second(const char* name, int version, cuuint64_t flags) {
    void* answer = nullptr;
    const auto ask = reinterpret_cast<decltype(&real_second)>(
        wrapper_of(Library::cuda, Function::cuGetProcAddress_v2));
    result = ask(name, &answer, version, flags, nullptr);
    return answer;
  }

  static void* wrapper(Function function) { return wrapper_of(Library::cuda, function); }

  std::map<Asked, void*> written;
  CUresult result = CUDA_SUCCESS;
};

TEST_F(DriverLookUp, AnswersWithTheWrapperAndRemembersTheRealFunction) {
  written = {{{"cuMemAlloc", 12000, legacy}, of_libc("malloc")},
             {{"cuMemAlloc", 11030, by_default}, of_libc("malloc")},
             {{"cuLaunchKernel", 7000, per_thread}, of_libc("free")}};
  const auto before = driver_replaced();
  EXPECT_EQ(second("cuMemAlloc", 12000, legacy), wrapper(Function::cuMemAlloc_v2));
  EXPECT_EQ(target(Library::cuda, Function::cuMemAlloc_v2).load(), of_libc("malloc"));
  EXPECT_EQ(first("cuMemAlloc", 11030, by_default), wrapper(Function::cuMemAlloc_v2));
  EXPECT_EQ(second("cuLaunchKernel", 7000, per_thread), wrapper(Function::cuLaunchKernel_v1_ptsz));
  EXPECT_EQ(driver_replaced(), before + 3);
}

TEST_F(DriverLookUp, FindsItselfThroughItself) {
  written = {{{"cuGetProcAddress", 11030, legacy}, reinterpret_cast<void*>(of_libc("abs"))},
             {{"cuGetProcAddress", 12000, legacy}, reinterpret_cast<void*>(of_libc("labs"))}};
  target(Library::cuda, Function::cuGetProcAddress_v1) = nullptr;
  EXPECT_EQ(second("cuGetProcAddress", 11030, legacy), wrapper(Function::cuGetProcAddress_v1));
  EXPECT_EQ(target(Library::cuda, Function::cuGetProcAddress_v1).load(), of_libc("abs"));
}

TEST_F(DriverLookUp, LetsThroughWhatItDoesNotKnow) {
  written = {{{"cuDeviceGet", 12000, legacy}, of_libc("malloc")},
             {{"cuLaunchKernel", 14000, legacy}, of_libc("malloc")},
             {{"cuMemAlloc", 2000, legacy}, of_libc("malloc")}};
  const auto before = driver_went_round();
  for (const auto& [asked, answer] : written) {
    const auto& [name, version, flags] = asked;
    EXPECT_EQ(second(name.c_str(), version, flags), answer) << name;
    EXPECT_EQ(result, CUDA_SUCCESS);
  }
  EXPECT_EQ(driver_went_round(), before + 2) << "the hooked ones of them";
  EXPECT_NE(first_that_went_round().find("cuLaunchKernel at 14000"), std::string::npos)
      << first_that_went_round();
  EXPECT_EQ(second("cuLaunchKernel", 12000, legacy), nullptr);
  EXPECT_EQ(result, CUDA_ERROR_NOT_FOUND) << "a failure is the driver's";
  driver_is_open = false;
  written[{"cuLaunchKernel", 12000, legacy}] = of_libc("free");
  EXPECT_EQ(second("cuLaunchKernel", 12000, legacy), of_libc("free"));
}

// Whoever has it, each its own: without a guard a later one may hang once CUPTI has been on.
TEST_F(DriverLookUp, StandsBeforeEachCuInit) {
  target(Library::cuda, Function::cuInit_v1) = nullptr;
  void* const of_another = dlsym(dlopen("libm.so.6", RTLD_NOW), "lround");
  written = {{{"cuInit", 12000, legacy}, of_libc("abs")}, {{"cuInit", 11000, legacy}, of_another}};
  void* const first = second("cuInit", 12000, legacy);
  EXPECT_EQ(first, wrapper(Function::cuInit_v1));
  void* const other = second("cuInit", 11000, legacy);
  EXPECT_NE(other, first);
  EXPECT_NE(other, of_another);
  EXPECT_EQ(second("cuInit", 11000, legacy), other);
  driver_is_open = false;
  EXPECT_EQ(second("cuInit", 12000, legacy), of_libc("abs")) << "CUPTI has never been on";
}

TEST_F(DriverLookUp, WrapsANewerMinorOnlyWhereTheAbiIsTheOneThatIsKnown) {
  written = {{{"cuLaunchKernel", 13020, legacy}, of_libc("free")},
             {{"cuLaunchKernel", 4000, legacy}, of_libc("free")},
             {{"cuMemFree", 13020, legacy}, of_libc("abs")},
             {{"cuMemFree", 3020, legacy}, of_libc("labs")}};
  EXPECT_EQ(second("cuLaunchKernel", 13020, legacy), wrapper(Function::cuLaunchKernel_v1));
  const auto before = driver_went_round();
  EXPECT_EQ(second("cuMemFree", 13020, legacy), of_libc("abs")) << "an ABI of its own";
  EXPECT_EQ(driver_went_round(), before + 1);
}

TEST_F(DriverLookUp, TiesAWrapperToOneLibrarysFunction) {
  written = {
      {{"cuMemFree", 12000, legacy}, of_libc("abs")},
      {{"cuMemFree", 12010, legacy}, of_libc("labs")},
      {{"cuMemFree", 12020, legacy}, symbol_in_object("ld-linux-x86-64.so.2", "_dl_mcount")}};
  EXPECT_EQ(second("cuMemFree", 12000, legacy), wrapper(Function::cuMemFree_v2));
  EXPECT_EQ(second("cuMemFree", 12010, legacy), wrapper(Function::cuMemFree_v2))
      << "another address of the same library";
  EXPECT_EQ(target(Library::cuda, Function::cuMemFree_v2).load(), of_libc("abs"));
  const auto before = driver_went_round();
  void* other = (written[{"cuMemFree", 12020, legacy}]);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(second("cuMemFree", 12020, legacy), other) << "a second driver";
  EXPECT_EQ(driver_went_round(), before + 1);
}

TEST_F(DriverLookUp, NeverTiesAWrapperToItself) {
  written = {{{"cuMemFree", 12000, legacy}, wrapper(Function::cuMemFree_v2)}};
  EXPECT_EQ(second("cuMemFree", 12000, legacy), wrapper(Function::cuMemFree_v2));
  EXPECT_EQ(target(Library::cuda, Function::cuMemFree_v2).load(), nullptr);
}

}  // namespace
}  // namespace traceagent::door
