"""CuPy: its own cudart, kernels compiled at run time, a matrix product in cuBLAS."""
import os
import time

import cupy

scale = cupy.RawKernel(r"""
extern "C" __global__ void cupy_scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}""", "cupy_scale")
x = cupy.arange(1 << 16, dtype=cupy.float32)
a = cupy.ones((512, 512), dtype=cupy.float32)
for step in range(4):
    cupy.cuda.nvtx.RangePush("step")
    if step < 3:
        for _ in range(10):
            scale((x.size // 256,), (256,), (x, cupy.float32(0.5), cupy.int32(x.size)))
            a = a @ a / 512
        cupy.cuda.Device().synchronize()
        if step == 0:
            time.sleep(float(os.environ.get("GPU_SETTLE_S", "0")))
    cupy.cuda.nvtx.RangePop()
print(float(x.sum()), float(a.sum()))
print("expect kernel cupy_scale 20 0")
