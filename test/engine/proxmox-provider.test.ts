import { existsSync } from "node:fs";
import { join } from "node:path";
import { GetSchemaRequest, type GetSchemaResponse } from "@pulumi/pulumi/proto/provider_pb";
import { dependencies } from "../../package.json";
import { PluginProcess } from "./support/plugin-process";
import { SchemaComparison, type ProviderSchema } from "./support/provider-schema";
import { describeWith } from "./support/requirement";
import { readSdkSchema, type SdkSchema } from "./support/sdk-schema";
import { engineEnvironment, engineMissing } from "./support/test-stack";

const SDK = "@muhlba91/pulumi-proxmoxve";
const VERSION = dependencies[SDK];

/** What of the SDK our components use. */
const USED = ["provider", "proxmoxve:index/containerLegacy:ContainerLegacy", "proxmoxve:download/file:File"];

/** The SDK is made from a slightly newer release of the Terraform provider than the newest that Go modules give. */
const KNOWN_DIFFERENCES = [
  "proxmoxve:backup/job:Job.excludes: only in the SDK",
  "proxmoxve:sdn/controller/evpn:Evpn.resourceId: only served",
  "proxmoxve:sdn/controller/evpn:Evpn.sdnControllerEvpnId: only in the SDK",
  // Every bridged provider has it; SDKs call it as a method.
  "pulumi:providers:proxmoxve/terraformConfig: only served",
];

async function servedSchema(): Promise<ProviderSchema> {
  const environment = engineEnvironment();
  const name = "pulumi-resource-proxmoxve";
  const program = join(environment.PULUMI_HOME ?? "", `plugins/resource-proxmoxve-v${VERSION}`, name);
  if (!existsSync(program)) throw new Error(`there is no ${program}: run engine/install`);
  const plugin = await PluginProcess.start(program, [], environment);
  try {
    const reply = await new Promise<GetSchemaResponse>((resolve, reject) => {
      plugin.client.getSchema(new GetSchemaRequest(), (error, response) => {
        if (error) reject(new Error(error.details));
        else resolve(response);
      });
    });
    return JSON.parse(reply.getSchema()) as ProviderSchema;
  } finally {
    await plugin.stop();
  }
}

describeWith(engineMissing(), "the Proxmox provider", () => {
  let sdk: SdkSchema;
  let served: ProviderSchema;

  beforeAll(async () => {
    sdk = readSdkSchema(SDK);
    served = await servedSchema();
  }, 60_000);

  test("reports the version of the SDK", () => {
    expect(served.version).toBe(VERSION);
  });

  test.each(USED)("%s is exactly what the SDK sends", (token) => {
    const comparison = new SchemaComparison(sdk, served).resource(token);
    expect(comparison.differences).toEqual([]);
    expect(comparison.compared).toBeGreaterThanOrEqual(11);
  });

  test("all else differs from the SDK in nothing but what is known", () => {
    const comparison = new SchemaComparison(sdk, served).all();
    expect(comparison.differences.filter((line) => !KNOWN_DIFFERENCES.includes(line))).toEqual([]);
    expect(sdk.resources.size).toBeGreaterThan(100);
    expect(sdk.functions.size).toBeGreaterThan(80);
    expect(comparison.compared).toBeGreaterThan(1500);
  });
});
