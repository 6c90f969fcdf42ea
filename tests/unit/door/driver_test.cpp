// The driver's wrappers: one event per call, whoever calls whom.
#include "agent/door/driver.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cerrno>
#include <csetjmp>
#include <functional>

#include "agent/door/call.hpp"
#include "agent/door/communicators.hpp"
#include "agent/door/wrappers.hpp"
#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

using api::Function;
using event::Layout;

template <class Real>
Real* wrapped(Library library, Function function, Real* real) {
  target(library, function).store(reinterpret_cast<void*>(real));
  return reinterpret_cast<Real*>(wrapper_of(library, function));
}

template <class Form>
Form* wrapper_as(Function function) {
  return reinterpret_cast<Form*>(wrapper_of(Library::cuda, function));
}

std::vector<std::string_view> names(const Recording& recording) {
  std::vector<std::string_view> names;
  for (const event::Record* record : recording.records()) {
    names.push_back(api::name_of(static_cast<Function>(record->function)).symbol);
  }
  return names;
}
using Names = std::vector<std::string_view>;

const auto kernel = reinterpret_cast<CUfunction>(0x5000);
const auto stream = reinterpret_cast<CUstream>(0x1234);

CUresult real_launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) {
  errno = ENOSPC;
  return CUDA_ERROR_LAUNCH_FAILED;
}

class DriverWrapper : public testing::Test {
 protected:
  DriverWrapper() {
    launch = wrapped(Library::cuda, Function::cuLaunchKernel_v1, &real_launch);
    driver_is_open = true;
    cudart_is_open = true;
  }
  ~DriverWrapper() override {
    driver_is_open = true;
    cudart_is_open = true;
    ring::writer.cuda_frame = 0;
  }
  CUresult call() { return launch(kernel, 1, 2, 3, 4, 5, 6, 512, stream, nullptr, nullptr); }

  Recording recording;
  decltype(&real_launch) launch;
};

TEST_F(DriverWrapper, RecordsALaunchAndLeavesResultAndErrnoAlone) {
  errno = 0;
  EXPECT_EQ(call(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(errno, ENOSPC);
  ASSERT_EQ(names(recording), Names{"cuLaunchKernel"});
  const event::Record& record = *recording.records()[0];
  EXPECT_EQ(record.layout, Layout::launch);
  EXPECT_EQ(record.result, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(record.detail, 512u);
  EXPECT_EQ(record.args[0], 1u | std::uint64_t{2} << 32);
  EXPECT_EQ(record.args[1], 3u | std::uint64_t{4} << 32);
  EXPECT_EQ(record.args[2], 5u | std::uint64_t{6} << 32);
  EXPECT_EQ(record.args[3], 0x1234u);
  EXPECT_GT(record.end_ticks.load(), record.begin_ticks.load());
}

CUresult real_get_function(CUfunction* function, CUmodule, const char*) {
  *function = kernel;
  return CUDA_SUCCESS;
}

TEST_F(DriverWrapper, NamesAKernelAsItWasAskedFor) {
  auto* get_function = wrapped(Library::cuda, Function::cuModuleGetFunction_v1, &real_get_function);
  call();
  CUfunction function = nullptr;
  char name[] = "_Z3addPf";
  EXPECT_EQ(get_function(&function, nullptr, name), CUDA_SUCCESS);
  name[0] = '\0';  // the caller's own memory
  call();
  ASSERT_EQ(names(recording), (Names{"cuLaunchKernel", "cuLaunchKernel"})) << "no event of its own";
  EXPECT_EQ(recording.records()[0]->extra, 0u);
  EXPECT_EQ(recording.ring().name(recording.records()[1]->extra), "_Z3addPf");
}

TEST_F(DriverWrapper, RecordsNothingInOtherModesOrWithItsDoorShut) {
  for (const step::Mode mode : {step::Mode::pass, step::Mode::observe}) {
    step::set_all_modes(mode);
    EXPECT_EQ(call(), CUDA_ERROR_LAUNCH_FAILED);
  }
  step::set_all_modes(step::Mode::record);
  driver_is_open = false;
  EXPECT_EQ(call(), CUDA_ERROR_LAUNCH_FAILED);
  driver_is_open = true;
  ring::writer.nested_in_start = 1;
  EXPECT_EQ(call(), CUDA_ERROR_LAUNCH_FAILED);
  ring::writer.nested_in_start = 0;
  EXPECT_EQ(names(recording), Names{});
  const int before = starts.load();
  step::set_all_modes(step::Mode::unstarted);
  call();
  EXPECT_EQ(starts.load(), before + 1);
}

std::function<CUresult()> inner;

cudaError_t real_cudart_launch(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  inner();
  return cudaSuccess;
}

class Nesting : public DriverWrapper {
 protected:
  Nesting() {
    inner = [this] { return call(); };
    cudart_launch = wrapped(Library::cudart_13, Function::cudaLaunchKernel, &real_cudart_launch);
  }
  ~Nesting() override { inner = nullptr; }
  void call_cudart() { cudart_launch(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr); }
  decltype(&real_cudart_launch) cudart_launch;
};

TEST_F(Nesting, InsideLibcudartItIsPartOfThatCall) {
  call_cudart();
  EXPECT_EQ(names(recording), Names{"cudaLaunchKernel"});
  call();
  EXPECT_EQ(names(recording), (Names{"cudaLaunchKernel", "cuLaunchKernel"}));
}

TEST_F(Nesting, WithLibcudartsDoorShutItIsTheEvent) {
  cudart_is_open = false;
  call_cudart();
  EXPECT_EQ(names(recording), Names{"cuLaunchKernel"});
}

TEST_F(Nesting, AJumpOutOfLibcudartHidesNothingAfterwards) {
  static std::jmp_buf place;
  inner = []() -> CUresult { std::longjmp(place, 1); };
  if (setjmp(place) == 0) call_cudart();
  EXPECT_NE(ring::writer.cuda_frame, 0u) << "nothing was left behind";
  // Where the stack has shrunk past the lost frame.
  ring::writer.cuda_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 65536;
  call();
  EXPECT_EQ(names(recording), (Names{"cudaLaunchKernel", "cuLaunchKernel"}));
  EXPECT_EQ(ring::writer.cuda_frame, 0u);
}

CUresult real_synchronise() { return inner ? inner() : CUDA_SUCCESS; }

TEST_F(Nesting, TheDriversOwnCallsOfItselfAreOneEvent) {
  auto* synchronise = wrapped(Library::cuda, Function::cuCtxSynchronize_v1, &real_synchronise);
  EXPECT_EQ(synchronise(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(names(recording), Names{"cuCtxSynchronize"});
}

ncclResult_t real_group() {
  inner();
  return ncclSuccess;
}

TEST_F(Nesting, InsideNcclItIsAnEventOfItsOwn) {
  auto* group_end = wrapped(Library::nccl, Function::ncclGroupEnd, &real_group);
  group_end();
  EXPECT_EQ(names(recording), (Names{"ncclGroupEnd", "cuLaunchKernel"}));
}

CUresult real_alloc(CUdeviceptr* pointer, std::size_t) {
  *pointer = 0x7000;
  return CUDA_SUCCESS;
}

TEST_F(DriverWrapper, RecordsTheAddressThatAnAllocationGave) {
  auto* allocate = wrapped(Library::cuda, Function::cuMemAlloc_v2, &real_alloc);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(allocate(&pointer, 4096), CUDA_SUCCESS);
  EXPECT_EQ(names(recording), Names{"cuMemAlloc_v2"});
  EXPECT_EQ(recording.records()[0]->args[0], 0x7000u);
  EXPECT_EQ(recording.records()[0]->args[2], 4096u);
}

CUresult real_copy_2d(const CUDA_MEMCPY2D*, CUstream) { return CUDA_SUCCESS; }

TEST_F(DriverWrapper, RecordsWhatABoxCopies) {
  auto* copy = wrapped(Library::cuda, Function::cuMemcpy2DAsync_v2, &real_copy_2d);
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = &box;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = 0x9000;
  box.WidthInBytes = 16;
  box.Height = 3;
  EXPECT_EQ(copy(&box, stream), CUDA_SUCCESS);
  EXPECT_EQ(copy(nullptr, stream), CUDA_SUCCESS) << "read through no null pointer";
  const event::Record& record = *recording.records().at(0);
  EXPECT_EQ(record.layout, Layout::copy);
  EXPECT_EQ(record.detail, static_cast<std::uint32_t>(cudaMemcpyHostToDevice));
  EXPECT_EQ(record.args[0], 0x9000u);
  EXPECT_EQ(record.args[1], reinterpret_cast<std::uintptr_t>(&box));
  EXPECT_EQ(record.args[2], 48u);
}

CUresult real_copy_3d_batch(std::size_t, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream) {
  return CUDA_SUCCESS;
}

TEST_F(DriverWrapper, StatesNoBytesWhereAnArrayTakesPart) {
  auto* copy = wrapped(Library::cuda, Function::cuMemcpy3DBatchAsync_v2, &real_copy_3d_batch);
  CUDA_MEMCPY3D_BATCH_OP boxes[2] = {};
  for (CUDA_MEMCPY3D_BATCH_OP& box : boxes) {
    box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    box.src.op.ptr.ptr = 0x8000;
    box.dst.op.ptr.ptr = 0x9000;
    box.extent = {4, 3, 2};
  }
  copy(2, boxes, 0, stream);
  boxes[1].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  boxes[1].dst.op.array.array = reinterpret_cast<CUarray>(0xa000);
  copy(2, boxes, 0, stream);
  copy(1, boxes + 1, 0, stream);
  boxes[1].extent.width = 0;
  copy(1, boxes + 1, 0, stream);
  copy(1, nullptr, 0, stream);
  const auto records = recording.records();
  ASSERT_EQ(records.size(), 5U);
  const std::uint64_t bytes[] = {48, event::unknown_bytes, event::unknown_bytes, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(records[i]->args[2], bytes[i]) << i;
  EXPECT_EQ(records[0]->args[0], 0x9000u);
  EXPECT_EQ(records[0]->args[1], 0x8000u);
  EXPECT_EQ(records[2]->args[0], 0xa000u);
}

CUresult real_copy_to_host(void*, CUarray, std::size_t, std::size_t) { return CUDA_SUCCESS; }

TEST_F(DriverWrapper, RecordsWhatIsCopiedOutOfAnArray) {
  auto* copy = wrapped(Library::cuda, Function::cuMemcpyAtoH_v2_ptds, &real_copy_to_host);
  copy(&recording, reinterpret_cast<CUarray>(0xa000), 64, 256);
  const event::Record& record = *recording.records().at(0);
  EXPECT_EQ(record.detail, static_cast<std::uint32_t>(cudaMemcpyDeviceToHost));
  EXPECT_EQ(record.args[0], reinterpret_cast<std::uintptr_t>(&recording));
  EXPECT_EQ(record.args[1], 0xa000u);
  EXPECT_EQ(record.args[2], 256u);
}

TEST_F(DriverWrapper, AnswersLikeTheApiWhereThereIsNoDriver) {
  EXPECT_EQ(wrapper_as<CUresult(CUdeviceptr)>(Function::cuMemFree_v2)(0), CUDA_ERROR_NOT_FOUND);
  void* answer = nullptr;
  auto* look_up =
      wrapper_as<CUresult(const char*, void**, int, cuuint64_t)>(Function::cuGetProcAddress_v1);
  target(Library::cuda, Function::cuGetProcAddress_v1) = nullptr;
  EXPECT_EQ(look_up("cuInit", &answer, 12000, 0), CUDA_ERROR_NOT_FOUND);
}

TEST(DriverNames, AreShownAsTheApiIsKnown) {
  EXPECT_EQ(api::name_of(Function::cuMemcpyHtoDAsync_v2_ptsz).shown, "cuMemcpyHtoDAsync");
  EXPECT_EQ(api::name_of(Function::cuMemcpyHtoDAsync_v2_ptsz).symbol, "cuMemcpyHtoDAsync_v2_ptsz");
  EXPECT_EQ(api::name_of(Function::cuMemcpyHtoDAsync_v2_ptsz).category, "cuda_driver");
  EXPECT_EQ(find_function("cuGetProcAddress"), Function::cuGetProcAddress_v1);
  EXPECT_EQ(find_function("cuMemAlloc_v2"), Function::cuMemAlloc_v2);
  EXPECT_EQ(find_called("cuMemAlloc"), Function::cuMemAlloc_v2);
  EXPECT_EQ(find_called("cudaLaunchKernel"), Function::cudaLaunchKernel);
  EXPECT_EQ(find_called("cuMemAllo"), Function::none);
  EXPECT_EQ(find_called(""), Function::none);
  for (auto i = static_cast<int>(Function::first_driver);
       i < static_cast<int>(Function::nvtx_range); ++i) {
    const auto function = static_cast<Function>(i);
    EXPECT_EQ(find_function(api::name_of(function).symbol), function);
    EXPECT_NE(wrapper_of(Library::cuda, function), nullptr) << api::name_of(function).symbol;
    EXPECT_TRUE(api::is_driver(function) && !api::is_nccl(function));
  }
}

}  // namespace
}  // namespace traceagent::door
