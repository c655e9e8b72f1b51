import { z } from "zod";
import { MODELS } from "../../catalog/models";
import { REPOSITORY } from "../model-list";
import { absolutePath, entries, httpUrl, text, textOrUnknown } from "./fields";

/** One model on the host. */
const model = z
  .strictObject({
    catalog: z
      .enum(MODELS.map((entry) => entry.name))
      .optional()
      .describe(
        "Name of the model in the catalog: layers, heads, memory and the rules come from there. Default: the catalog's model of the same " +
          "`repo`. A model that is not in the catalog is served without the rules that need these facts.",
      )
      .meta({ examples: ["qwen3.6-27b"] }),
    repo: text(REPOSITORY, "a repository of the model hub, owner/name")
      .describe("Repository of the model hub.")
      .meta({ examples: ["Qwen/Qwen3.6-27B"] }),
    revision: textOrUnknown(/^[0-9a-f]{40}$/, "a commit of the repository, 40 hexadecimal digits (in quotes)")
      .describe(
        "Commit of the repository: never a branch, so that two hosts serve the same weights. Its files and their hashes are recorded by " +
          "`./stack describe-model REPO --revision COMMIT`. A change downloads what differs, verifies it and restarts the services.",
      )
      .meta({ examples: ["0123456789abcdef0123456789abcdef01234567"] }),
    path: absolutePath
      .describe(
        "Directory on the host for the snapshot. A container sees it through a mount of a folder above it, and several containers share it. " +
          "Files that lie there already are verified and taken over. It stays when the stack is destroyed.",
      )
      .meta({ examples: ["/srv/models/qwen3.6-27b"] }),
    endpoint: httpUrl
      .optional()
      .describe(
        "Address of the model hub, or of a mirror that speaks its API. What it serves is compared with the recorded hashes. Default: the " +
          "public hub of the model tools.",
      )
      .meta({ examples: ["http://10.77.0.1:8090"] }),
  })
  .describe("One model: a pinned snapshot on the host.");

/** Key `models`. */
export const modelsSchema = entries(model).describe("Models, by name: pinned snapshots on the host.");

export type ModelConfig = z.output<typeof model>;
