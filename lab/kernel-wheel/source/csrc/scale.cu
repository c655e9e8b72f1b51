#include <cub/block/block_reduce.cuh>

__global__ void scale_kernel(float* values, float f, int n) {
  __shared__ typename cub::BlockReduce<float, 128>::TempStorage memory;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i < n ? values[i] : f;
  const float result = v * f;
  if (i < n) values[i] = result;
}

extern "C" void run_scale(float* values, float f, int n) { scale_kernel<<<(n + 127) / 128, 128>>>(values, f, n); }
