import { z } from "zod";
import { absolutePath, entries, entryName, httpUrl, positiveInteger, text } from "./fields";

/** One Python environment. */
const environment = z
  .strictObject({
    container: entryName
      .describe("Name of the container (key `containers`) that holds the environment.")
      .meta({ examples: ["ml"] }),
    path: absolutePath
      .default("/opt/ml-env")
      .describe(
        "Path of the environment: a link to the version in use, which is built aside and switched when it has passed its checks.",
      ),
    lock: text(/^[a-z0-9][a-z0-9.-]*$/, "the name of a folder in environments/")
      .describe(
        "Folder in `environments/` with `requirements.lock`: every package with its version and hash, and in `pyproject.toml` the smoke test and " +
          "maybe a pinned interpreter. A changed lock builds a new environment beside the old one and restarts the services on it.",
      )
      .meta({ examples: ["lab-sglang-0.5.11"] }),
    python: text(/^3\.(1[0-9])$/, 'a Python version in quotes, "3.10" or newer')
      .default("3.11")
      .describe(
        "Python version of the environment. Keep the quotes: YAML reads 3.10 as 3.1. A change builds a new environment.",
      ),
    index: httpUrl
      .optional()
      .describe(
        "Package index (PEP 503) to download from; not used with a `wheelhouse`. Default: what the container is configured to use. The hashes of the lock decide what is accepted.",
      )
      .meta({ examples: ["http://10.77.0.1:3141/simple"] }),
    toolkit: entryName
      .optional()
      .describe(
        "Name of the CUDA toolkit (key `toolkits`) that compiles what the environment builds from source, and that its services find in `CUDA_HOME` " +
          "and `PATH`. Default: none; then nothing is compiled with nvcc. A change rebuilds those wheels and restarts the services.",
      )
      .meta({ examples: ["cuda-13"] }),
    keep: positiveInteger
      .max(20)
      .default(2)
      .describe(
        "How many previous environments stay for a rollback. Each takes its full size on the root disk, less the files they share.",
      ),
  })
  .describe("One Python environment in a container, from a hashed lock.");

/** Key `environments`. */
export const environmentsSchema = entries(environment).describe("Python environments, by name.");

export type EnvironmentConfig = z.output<typeof environment>;
