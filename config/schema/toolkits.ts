import { z } from "zod";
import { entries, fileUrl, sha256, text } from "./fields";

/**
 * Folders below `builds/` in NVIDIA's Linux installer that compiling kernels can need. Left out on purpose: the driver,
 * Nsight, samples, documentation, debuggers.
 */
export const TOOLKIT_COMPONENTS = [
  "cuda_cccl",
  "cuda_crt",
  "cuda_cudart",
  "cuda_cuobjdump",
  "cuda_cupti",
  "cuda_nvcc",
  "cuda_nvdisasm",
  "cuda_nvml_dev",
  "cuda_nvrtc",
  "cuda_nvtx",
  "cuda_profiler_api",
  "libcublas",
  "libcufft",
  "libcufile",
  "libcurand",
  "libcusolver",
  "libcusparse",
  "libnvjitlink",
  "libnvptxcompiler",
  "libnvvm",
] as const;

const installer = z
  .strictObject({
    url: fileUrl
      .describe(
        "Where NVIDIA's toolkit installer (`cuda_…_linux.run`) comes from when the wheelhouse does not hold it. " +
          "`{version}` stands for the toolkit's version. A change of the address alone downloads nothing: the checksum decides.",
      )
      .meta({ examples: ["https://download.example.org/cuda_{version}_linux.run"] }),
    sha256: sha256
      .describe(
        "Checksum of the installer: 64 hexadecimal digits, or `file:PATH`, a file in sha256sum's format relative to the " +
          "project, of which the line with the address's file name is taken. A file with another checksum is never unpacked.",
      )
      .meta({ examples: ["file:checksums/cuda.sha256"] }),
  })
  .describe("The installer of the toolkit.");

/** One CUDA toolkit. */
const toolkit = z
  .strictObject({
    version: text(/^\d{2}\.\d{1,2}\.\d{1,2}$/, "a full CUDA version such as 13.0.2")
      .describe(
        "Version of the CUDA toolkit. It goes to `/opt/proxmox-gpu-stack/toolkits/cuda-<version>` of each container with an " +
          "environment that names it; other versions stay beside it. A change rebuilds wheels that were compiled with it and restarts " +
          "the services of those environments.",
      )
      .meta({ examples: ["13.0.2"] }),
    installer,
    components: z
      .array(z.enum(TOOLKIT_COMPONENTS))
      .min(1)
      .optional()
      .describe(
        "Parts of the toolkit, by their folder in the installer. Default: compiler, CUDA runtime, CCCL and the libraries that " +
          "torch's CMake files ask for. A change installs the toolkit again, beside the one in use, and rebuilds the wheels.",
      )
      .meta({ examples: [["cuda_nvcc", "cuda_cudart", "cuda_cccl"]] }),
  })
  .describe("One CUDA toolkit, for compiling: of wheels from source, and of kernels while a service runs.");

/** Key `toolkits`. */
export const toolkitsSchema = entries(toolkit).describe(
  "CUDA toolkits, by name. One that no environment names is installed nowhere; one that is taken out is removed.",
);

export type ToolkitConfig = z.output<typeof toolkit>;
