import { join } from "node:path";
import { PluginProcess } from "./support/plugin-process";

const BIN = join(__dirname, "../../engine/stand-ins/bin");

describe.each(["pulumi-resource-command", "pulumi-language-nodejs"])("%s", (name) => {
  let plugin: PluginProcess;
  beforeEach(async () => (plugin = await PluginProcess.start(join(BIN, name), [], process.env)));
  afterEach(() => plugin.stop());

  test("ends when it is told to", async () => {
    expect(await plugin.stop()).toBe(0);
  });

  test("ends when the engine dies without a word", async () => {
    expect(await plugin.orphan()).toBe(0);
  });
});
