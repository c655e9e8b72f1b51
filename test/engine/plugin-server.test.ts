import { PluginProcess } from "./support/plugin-process";
import { describeWith } from "./support/requirement";
import { standIns, standInsMissing } from "./support/stand-ins";

describeWith(standInsMissing(), "the stand-in", () => {
  describe.each(["commandProvider", "languageHost"] as const)("%s", (name) => {
    let plugin: PluginProcess;
    beforeEach(async () => (plugin = await PluginProcess.start(standIns()[name], [], process.env)));
    afterEach(() => plugin.stop());

    test("ends when it is told to", async () => {
      expect(await plugin.stop()).toBe(0);
    });

    test("ends when the engine dies without a word", async () => {
      expect(await plugin.orphan()).toBe(0);
    });
  });
});
