import { z } from "zod";
import { GPUS } from "../../catalog/gpus";
import { entries, textOrUnknown } from "./fields";

/** One card of the inventory. Which of `uuid` and `pci` is given is checked apart (cross-references). */
const gpu = z
  .strictObject({
    model: z
      .enum(GPUS.map((card) => card.name))
      .describe(
        "Model of the card, as the catalog names it: memory, compute capability and rules come from there.",
      )
      .meta({ examples: ["rtx-a6000"] }),
    uuid: textOrUnknown(
      /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      "the UUID that `nvidia-smi -L` prints (GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx)",
    )
      .optional()
      .describe(
        "UUID of the card, the same in every slot and after every boot (device numbers are not). A changed card is a changed UUID: " +
          "the containers that use it get the new card's device nodes.",
      )
      .meta({ examples: ["GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1"] }),
    pci: textOrUnknown(
      /^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$/,
      "a PCI address with its domain, in lower case (0000:41:00.0)",
    )
      .optional()
      .describe(
        "PCI address of the card, instead of the UUID: where the slot matters and not the card, or before a driver is there to tell the UUID.",
      )
      .meta({ examples: ["0000:41:00.0"] }),
  })
  .describe("One card: its model, and either `uuid` or `pci`.");

/** Key `gpus`: the inventory. */
export const gpusSchema = entries(gpu).describe(
  "Inventory of the host's NVIDIA GPUs: a name for each card, which containers and services then use. Never by index. A card that a " +
    "virtual machine has (vfio-pci) does not belong here: `up` refuses it and names the VM.",
);

export type GpuConfig = z.output<typeof gpu>;
