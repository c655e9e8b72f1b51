/** What the engine's events say of one stack's run: what it does now, what it has done, what went wrong. */
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation";
import { isGroup, OPERATIONS, type Operation } from "../review/preview";

/** How many resources; a resource counts once. */
export type Changes = Readonly<Record<Operation | "same", number>>;

/** Something that the engine or a step reported as an error. */
export interface Complaint {
  /** Name of the resource; empty: of the stack as a whole. */
  readonly resource: string;
  readonly message: string;
}

interface Work {
  readonly resource: string;
  readonly operation: Operation;
  readonly since: number;
  /** Its last line of progress. */
  note: string;
}

const DOING: Readonly<Record<Operation, string>> = {
  create: "creating",
  update: "updating",
  replace: "replacing",
  delete: "deleting",
};

const DONE: Readonly<Record<Operation, string>> = {
  create: "created",
  update: "updated",
  replace: "replaced",
  delete: "deleted",
};

const nameOf = (urn: string | undefined): string => urn?.split("::").at(-1) ?? "";

/** The operation of an event on a resource that stands for something real; undefined: it changes nothing there. */
const operationOf = ({ op, type }: StepEventMetadata): Operation | "same" | undefined => {
  if (isGroup(type) || type.startsWith("pulumi:providers:")) return undefined;
  return op === "same" ? "same" : OPERATIONS[op];
};

/** The engine's own word for an error that was told before. */
const GENERAL = /^(error: )?(update|preview) failed$/;

export class Progress {
  private readonly operations = new Map<string, Operation | "same">();
  /** In the order of their last sign of life. */
  private readonly works = new Map<string, Work>();
  private readonly errors: Complaint[] = [];

  /** @param planning a preview, in which resources are told and nothing is worked on */
  constructor(private readonly planning: boolean) {}

  /**
   * Takes an event in.
   *
   * @returns a line for a person when something began, ended or failed
   */
  take(event: EngineEvent): string | undefined {
    const { resourcePreEvent, resOutputsEvent, resOpFailedEvent, diagnosticEvent, timestamp } = event;
    if (resourcePreEvent !== undefined) return this.begin(resourcePreEvent.metadata, timestamp);
    if (resOutputsEvent !== undefined) return this.end(resOutputsEvent.metadata, timestamp);
    if (resOpFailedEvent !== undefined) return this.fail(resOpFailedEvent.metadata, timestamp);
    if (diagnosticEvent !== undefined) this.hear(diagnosticEvent);
    return undefined;
  }

  /** What was changed so far; of a preview, what would be. */
  get changes(): Changes {
    const counts = { create: 0, update: 0, replace: 0, delete: 0, same: 0 };
    for (const operation of this.operations.values()) counts[operation] += 1;
    return counts;
  }

  get complaints(): readonly Complaint[] {
    return this.errors;
  }

  /** What is being done, the liveliest first. */
  get now(): string[] {
    return [...this.works.values()]
      .reverse()
      .map(
        ({ resource, operation, note }) => `${DOING[operation]} ${resource}${note === "" ? "" : `: ${note}`}`,
      );
  }

  private begin(step: StepEventMetadata, since: number): string | undefined {
    const operation = operationOf(step);
    if (operation === undefined) return undefined;
    if (this.planning) return this.note(step, operation);
    if (operation === "same") return undefined;
    const resource = nameOf(step.urn);
    // A replacement is told once as a whole and once for each of its parts.
    const before = this.works.get(step.urn);
    this.works.set(step.urn, before ?? { resource, operation, since, note: "" });
    return before === undefined ? `${DOING[operation]} ${resource}` : undefined;
  }

  private end(step: StepEventMetadata, timestamp: number): string | undefined {
    const operation = operationOf(step);
    if (operation === undefined || this.planning) return undefined;
    this.operations.set(step.urn, operation);
    const work = this.works.get(step.urn);
    if (operation === "same" || work === undefined) return undefined;
    this.works.delete(step.urn);
    return `${DONE[operation]} ${work.resource} in ${timestamp - work.since} s`;
  }

  private fail({ urn }: StepEventMetadata, timestamp: number): string | undefined {
    const work = this.works.get(urn);
    this.works.delete(urn);
    return work && `failed after ${timestamp - work.since} s: ${DOING[work.operation]} ${work.resource}`;
  }

  /** A resource of a preview, told once. */
  private note({ urn }: StepEventMetadata, operation: Operation | "same"): string | undefined {
    const known = this.operations.has(urn);
    this.operations.set(urn, operation);
    return known || operation === "same" ? undefined : `would ${operation} ${nameOf(urn)}`;
  }

  private hear({ urn, severity, message }: NonNullable<EngineEvent["diagnosticEvent"]>): void {
    const text = message.trim();
    if (severity === "error" && !GENERAL.test(text)) {
      // The provider's log and the engine tell the same error; the later text is the whole one.
      const resource = nameOf(urn);
      const earlier = this.errors.findIndex((error) => error.resource === resource && resource !== "");
      if (earlier >= 0) this.errors.splice(earlier, 1);
      this.errors.push({ resource, message: text });
    }
    const work = urn === undefined ? undefined : this.works.get(urn);
    if (urn === undefined || work === undefined || text === "" || severity !== "info") return;
    work.note = text.split("\n").at(-1) ?? "";
    this.works.delete(urn);
    this.works.set(urn, work);
  }
}
