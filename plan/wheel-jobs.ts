/** nvcc takes 3 to 5 GiB for each thread: the default of 32 threads killed a machine of 128 GB (SGLang issue 25667). */
const GIB_PER_JOB = 5;

/** What the system, the linker and everything else of the container get. */
const GIB_FOR_OTHERS = 8;

/**
 * How many compilers run at once, each with one thread.
 *
 * @param memoryGiB memory of the container
 * @param cores cores of the container
 */
export function compileJobs(memoryGiB: number, cores: number): number {
  return Math.max(1, Math.min(cores, Math.floor((memoryGiB - GIB_FOR_OTHERS) / GIB_PER_JOB)));
}
