import { z } from "zod";
import { ROUTER_POLICIES } from "../../catalog/router";
import { entries, entryName, ipAddress, port, positiveInteger, text } from "./fields";

/** One router in front of replicas. */
const router = z
  .strictObject({
    environment: entryName
      .describe(
        "Name of the environment (key `environments`) whose lock holds `sglang-router`, such as `sglang-router-0.3.2`; it also decides the " +
          "container, which needs no card.",
      )
      .meta({ examples: ["router-env"] }),
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether the router runs. `false` installs its files and neither starts nor checks it."),
    replicas: z
      .array(
        text(
          /^[a-z][a-z0-9-]{0,39}$|^http:\/\/[A-Za-z0-9.-]+:\d{1,5}$/,
          "the name of a service of this stack, or the address of another stack's: http://HOST:PORT",
        ),
      )
      .min(1, { error: "a list of at least one replica" })
      .describe(
        "What answers: names of services of this stack, and addresses (`http://HOST:PORT`) of services of other stacks. All must serve the " +
          "same model; the health gate asks each of them. A change restarts the router, not the replicas.",
      )
      .meta({ examples: [["qwen-a", "qwen-b", "http://10.1.2.131:30000"]] }),
    servedModelName: text(/^[^\s:]+$/, "a name without spaces and colons")
      .optional()
      .describe(
        "Name of the model that the replicas serve. Default: that of the services that `replicas` names; where it holds addresses alone it must be stated.",
      )
      .meta({ examples: ["qwen3.6-27b"] }),
    policy: z
      .enum(ROUTER_POLICIES)
      .default("cache_aware")
      .describe(
        "How a replica is chosen. `cache_aware` sends what begins alike to the same replica, whose cache then holds it, as long as the load is even.",
      ),
    listen: ipAddress
      .default("0.0.0.0")
      .describe("Address in the container to listen on, for clients and for metrics."),
    port: port.default(8000).describe("TCP port for clients. A change moves the endpoint."),
    metricsPort: port.default(29000).describe("TCP port of the router's Prometheus metrics."),
    user: text(/^[a-z_][a-z0-9_-]{0,31}$/, "the name of a system user")
      .optional()
      .describe("System user that runs the router; it is made if it is not there. Default: `sglang`."),
    startTimeoutMinutes: positiveInteger
      .max(600)
      .default(30)
      .describe(
        "Minutes until every replica must be there, or the health gate fails. Replicas of this stack come first; those of others may still be loading.",
      ),
    stopTimeoutSeconds: positiveInteger
      .max(3600)
      .default(120)
      .describe("Seconds that running answers get to finish when the router stops."),
    probeIntervalMinutes: positiveInteger
      .max(10_080)
      .default(15)
      .describe(
        "Minutes between two repetitions of the probe: are all replicas there, and is an answer right?",
      ),
  })
  .describe("One router of SGLang's in front of replicas: `sglang-<name>.service` in its container.");

/** Key `routers`. */
export const routersSchema = entries(router).describe(
  "Routers in front of services that serve the same model, by name. Their names differ from those of services.",
);

export type RouterConfig = z.output<typeof router>;
