// The stages of cupti_stages.cuh for a Python program: see torch_stages.py.
#include "cupti_stages.cuh"

extern "C" bool stages_open(const char* library) {
  if (!gpu::open_cupti(library)) return false;
  return gpu::cupti.register_callbacks(gpu::request_buffer, gpu::complete) == 0;
}

extern "C" bool stages_enter(const char* stage) { return gpu::enter(stage); }

extern "C" double stages_cheap_call_ns() { return gpu::median_ns_of_a_cheap_call(); }
