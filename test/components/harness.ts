import * as pulumi from "@pulumi/pulumi";

/** One registered resource, with the options that Pulumi's public mocks hide. */
export interface Registered {
  readonly type: string;
  readonly name: string;
  /** URN; empty for the stack itself. */
  readonly parent: string;
  readonly inputs: Record<string, unknown>;
  readonly protect: boolean;
  readonly ignoreChanges: readonly string[];
  readonly dependsOn: readonly string[];
  readonly deletedWith: string;
  readonly retainOnDelete: boolean;
  readonly deleteBeforeReplace: boolean;
  readonly timeouts: { readonly create: string; readonly update: string; readonly delete: string };
  readonly hideDiffs: readonly string[];
}

/** How a secret looks in what the program sends. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

interface Wire {
  toObject(): Record<string, unknown>;
  getObject(): { toJavaScript(): Record<string, unknown> } | undefined;
}

interface Monitor {
  registerResource(request: Wire, callback: unknown): unknown;
}

/**
 * Runs a program on Pulumi's mock monitor and records what it registers.
 *
 * @param raw the stack's configuration, keys with their namespace
 * @param load imports the program; called with a fresh module registry
 */
export async function record(
  raw: Readonly<Record<string, string>>,
  secretKeys: readonly string[],
  load: () => unknown,
  options: { preview?: boolean; stack?: string; macAddress?: string } = {},
): Promise<Registered[]> {
  // Jest maps every stack trace to sources, and the SDK takes one for every promise.
  delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace;
  const registered: Registered[] = [];
  const preview = options.preview ?? false;
  await pulumi.runtime.setMocks(
    {
      newResource: ({ name, inputs, type }) => ({
        id: preview ? undefined : `${name}-id`,
        state: preview ? inputs : { ...inputs, ...computed(type, options.macAddress) },
      }),
      call: ({ inputs }) => inputs,
    },
    "proxmox-gpu-stack",
    options.stack ?? "lab",
    preview,
  );
  pulumi.runtime.setAllConfig({ ...raw }, [...secretKeys]);
  // Public mocks hide options (pulumi/pulumi#14421), so the request itself is looked at.
  const monitor = pulumi.runtime.getMonitor() as unknown as Monitor;
  const original = monitor.registerResource.bind(monitor);
  monitor.registerResource = (request, callback) => {
    registered.push(fromWire(request));
    return original(request, callback);
  };
  load();
  await drained(() => registered.length);
  return registered;
}

/** What providers add to a resource that the tests look at. */
function computed(type: string, macAddress = "BC:24:11:00:00:01"): Record<string, unknown> {
  if (type === "command:remote:Command") return { stdout: '{"changed":true}' };
  if (type.endsWith(":ContainerLegacy")) return { networkInterfaces: [{ name: "eth0", macAddress }] };
  return {};
}

function fromWire(request: Wire): Registered {
  const o = request.toObject();
  const timeouts = (o.customtimeouts ?? {}) as Record<string, string>;
  return {
    type: o.type as string,
    name: o.name as string,
    parent: o.parent as string,
    inputs: request.getObject()?.toJavaScript() ?? {},
    protect: Boolean(o.protect),
    ignoreChanges: o.ignorechangesList as string[],
    dependsOn: o.dependenciesList as string[],
    deletedWith: o.deletedwith as string,
    retainOnDelete: Boolean(o.retainondelete),
    deleteBeforeReplace: Boolean(o.deletebeforereplace),
    timeouts: {
      create: timeouts.create ?? "",
      update: timeouts.update ?? "",
      delete: timeouts.pb_delete ?? timeouts.delete ?? "",
    },
    hideDiffs: (o.hidediffsList ?? []) as string[],
  };
}

/** Resources registered inside an apply come late: wait until three rounds bring nothing new. */
async function drained(count: () => number): Promise<void> {
  const runtime = pulumi.runtime as unknown as { waitForRPCs(): Promise<void> };
  for (let quiet = 0, last = -1; quiet < 3;) {
    await runtime.waitForRPCs();
    await new Promise((resolve) => setImmediate(resolve));
    quiet = count() === last ? quiet + 1 : 0;
    last = count();
  }
}

/** The value with every secret replaced by "[secret]". */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  if ((value as Record<string, unknown>)[SIGNATURE] === SECRET) return "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner)]));
}
