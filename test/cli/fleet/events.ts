/** Engine events as Pulumi sends them, for tests. */
import type { EngineEvent } from "@pulumi/pulumi/automation";

const STEP = "command:remote:Command";

type Metadata = NonNullable<EngineEvent["resourcePreEvent"]>["metadata"];

function metadata(op: string, name: string, type: string): Metadata {
  const urn = `urn:pulumi:kpro5::proxmox-gpu-stack::${type}::${name}`;
  return { op: op as Metadata["op"], urn, type, provider: "" };
}

let sequence = 0;
const event = (timestamp: number, rest: Partial<EngineEvent>): EngineEvent => ({
  sequence: sequence++,
  timestamp,
  ...rest,
});

export const begins = (op: string, name: string, at = 0, type = STEP): EngineEvent =>
  event(at, { resourcePreEvent: { metadata: metadata(op, name, type) } });

export const ends = (op: string, name: string, at = 0, type = STEP): EngineEvent =>
  event(at, { resOutputsEvent: { metadata: metadata(op, name, type) } });

export const fails = (op: string, name: string, at = 0): EngineEvent =>
  event(at, { resOpFailedEvent: { metadata: metadata(op, name, STEP), status: 0, steps: 0 } });

export const says = (
  name: string,
  message: string,
  severity: "info" | "warning" | "error" = "info",
): EngineEvent =>
  event(0, {
    diagnosticEvent: { urn: metadata("", name, STEP).urn, message, severity, color: "never" },
  });

/** An error of the stack as a whole. */
export const complains = (message: string): EngineEvent =>
  event(0, { diagnosticEvent: { message, severity: "error", color: "never" } });
