#include "tests/sim/cudart/bodies.hpp"

namespace simgpu::cudart {
namespace {

thread_local constinit cudaError_t last_error = cudaSuccess;

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr ErrorText texts[] = {
#define ERROR(name, text) {name, #name, text},
#include "tests/sim/cudart/errors.def"
#undef ERROR
};

const ErrorText* find(cudaError_t code) {
  for (const ErrorText& each : texts) {
    if (each.code == code) {
      return &each;
    }
  }
  return nullptr;
}

const char* name_of(cudaError_t code) {
  const ErrorText* found = find(code);
  return found == nullptr ? "unrecognized error code" : found->name;
}

const char* text_of(cudaError_t code) {
  const ErrorText* found = find(code);
  return found == nullptr ? "unrecognized error code" : found->text;
}

}  // namespace

cudaError_t keep(std::uint16_t function, cudaError_t error) {
  const bool asks = function == Number::cudaGetLastError || function == Number::cudaPeekAtLastError;
  if (error != cudaSuccess && !asks) {
    last_error = error;
  }
  return error;
}

BODY(cudaPeekAtLastError)(Call&) { return last_error; }

BODY(cudaGetLastError)(Call&) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

}  // namespace simgpu::cudart

using simgpu::Call;
using simgpu::Function;
using simgpu::Library;
using simgpu::Variant;
using simgpu::cudart::Number;

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(cudaError_t error) {
  Call call(Function{Library::cudart, Number::cudaGetErrorName, "cudaGetErrorName", Variant::plain,
                     simgpu::cudart::cudart_major});
  call.finish(0);
  return simgpu::cudart::name_of(error);
}

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(
    cudaError_t error) {
  Call call(Function{Library::cudart, Number::cudaGetErrorString, "cudaGetErrorString",
                     Variant::plain, simgpu::cudart::cudart_major});
  call.finish(0);
  return simgpu::cudart::text_of(error);
}
