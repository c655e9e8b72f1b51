#include <cub/block/block_reduce.cuh>

__global__ void softmax_kernel(float* values, float f, int n) {
  __shared__ typename cub::BlockReduce<float, 128>::TempStorage memory;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i < n ? values[i] : f;
  const float result = expf(v) / cub::BlockReduce<float, 128>(memory).Sum(expf(v));
  if (i < n) values[i] = result;
}

extern "C" void run_softmax(float* values, float f, int n) { softmax_kernel<<<(n + 127) / 128, 128>>>(values, f, n); }

extern "C" unsigned int lab_kernels() { return 4; }
