import { z } from "zod";
import { absolutePath, httpUrl } from "./fields";

/** Where containers with an environment see the wheelhouse. */
export const WHEELHOUSE_TARGET = "/wheelhouse";

/** Key `wheelhouse`. */
export const wheelhouseSchema = z
  .strictObject({
    path: absolutePath
      .describe(
        "Directory on the host that holds every file which the locks name, by its SHA-256 (`files/<sha256>/<name>`); a read-only NFS mount will do. " +
          `Containers with an environment see it read-only at \`${WHEELHOUSE_TARGET}\`. It stays when the stack is destroyed.`,
      )
      .meta({ examples: ["/srv/wheelhouse"] }),
    mirror: httpUrl
      .optional()
      .describe(
        "Address of a wheelhouse with the same layout, from which missing files are fetched and verified. Default: none; what is missing is named, " +
          "and `./stack wheelhouse push STACK` brings it.",
      )
      .meta({ examples: ["http://192.0.2.10/wheelhouse"] }),
  })
  .describe(
    "Files of all Python environments, kept on the host: with it, environments are built with no network at all, years later too. Without it, packages come " +
      "from the index.",
  );

export type WheelhouseConfig = z.output<typeof wheelhouseSchema>;
