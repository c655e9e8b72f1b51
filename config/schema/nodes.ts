import { z } from "zod";
import { ipAddressOrUnknown, port } from "./fields";

/** A service's part of a server that runs over several containers, usually on several hosts. */
export const nodesSchema = z
  .strictObject({
    count: z
      .int()
      .min(2)
      .max(64)
      .describe("Number of containers that share the server. It must divide `tensorParallel`."),
    rank: z
      .int()
      .min(0)
      .max(63)
      .describe(
        "Place of this one among them, from 0. Rank 0 answers clients; the others lend it their cards and answer nothing but /health.",
      ),
    address: ipAddressOrUnknown
      .describe("IPv4 address of rank 0's container, where all meet. The same in every stack.")
      .meta({ examples: ["10.1.2.129"] }),
    port: port
      .default(20000)
      .describe(
        "TCP port on which rank 0 waits for the others. Between the containers every port must be open: NCCL and Gloo choose their own.",
      ),
  })
  .describe(
    "One SGLang server over several containers. Each stack declares its part as a service of its own; `./stack check A B` compares the parts.",
  );
