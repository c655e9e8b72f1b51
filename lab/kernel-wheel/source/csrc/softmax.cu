__global__ void softmax_kernel(float* values, float f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i < n ? values[i] : f;
  if (i < n) values[i] = expf(v) / f;
}

extern "C" void run_softmax(float* values, float f, int n) { softmax_kernel<<<(n + 127) / 128, 128>>>(values, f, n); }

extern "C" unsigned int lab_kernels() { return 4; }
