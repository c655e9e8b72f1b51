import { z } from "zod";
import { fileUrl, sha256, text } from "./fields";

const installer = z
  .strictObject({
    url: fileUrl
      .describe(
        "Where NVIDIA's installer (`.run`) is downloaded from, by the host. `{version}` stands for the driver " +
          "version. A change of the address alone downloads nothing: the checksum decides.",
      )
      .meta({ examples: ["https://download.example.org/NVIDIA-Linux-x86_64-{version}.run"] }),
    sha256: sha256
      .describe(
        "Checksum of the installer: 64 hexadecimal digits, or `file:PATH`, a file in sha256sum's format relative " +
          "to the project, of which the line with the address's file name is taken. A file with another checksum is never run.",
      )
      .meta({ examples: ["file:checksums/nvidia.sha256"] }),
  })
  .describe("The installer of the driver.");

/** Key `driver`: NVIDIA's driver on the host, and its userland in the containers. */
export const driverSchema = z
  .strictObject({
    version: text(/^\d{3}\.\d{1,3}(\.\d{1,3})?$/, "a driver version such as 580.105.08")
      .describe(
        "Version of NVIDIA's driver, for the host's kernel modules and for the libraries in every container: the two " +
          "must be equal. A change stops the services and containers of the stack that use the GPUs, rebuilds the modules and starts them " +
          "again; the host is rebooted only where something else holds the old ones.",
      )
      .meta({ examples: ["580.105.08"] }),
    modules: z
      .enum(["open", "proprietary"])
      .describe(
        "Kind of the kernel modules. Blackwell GPUs run with `open` only, GPUs before Turing with `proprietary` only; " +
          "Turing to Hopper run with both. A change does what a changed `version` does.",
      ),
    installer,
    replaceExisting: z
      .boolean()
      .default(false)
      .describe(
        "Whether `up` may remove a driver that it did not install itself: a distribution's packages, another " +
          "installer's modules. With `false` it names what it found and changes nothing. A driver that is already of the " +
          "declared version and kind is taken over as it is. It has no effect once the driver is in place.",
      ),
  })
  .describe("NVIDIA's driver: its version, its kernel modules, where it comes from.");

export type DriverConfig = z.output<typeof driverSchema>;
