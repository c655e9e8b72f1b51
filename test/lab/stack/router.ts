import type { LabStack } from "./lab-stack";

/** Declares a router `front` with an environment of its own, in the container of `ml-env`. */
export function declareRouter(stack: LabStack, router: Readonly<Record<string, unknown>>): void {
  stack.edit((file) => {
    const { "ml-env": own } = file.environments as Record<string, Record<string, unknown>>;
    Object.assign(file.environments ?? {}, {
      "router-env": { ...own, path: "/opt/router-env", lock: "sglang-router-0.3.2" },
    });
    file.routers = { front: { environment: "router-env", ...router } };
  });
}
