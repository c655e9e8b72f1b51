import path from "node:path";
import { renderRouterFiles } from "../../../plan/unit/router-files";
import { renderServiceFiles } from "../../../plan/unit/service-files";
import type { UnitInput } from "../../../plan/unit/types";
import { analyze, HAS_SYSTEMD, withFakeRoot } from "./fake-root";
import { routerSample, sample } from "./samples";

/** systemd's rating of exposure, times ten: 0 is safe, 100 is bare. Every setting that is left out says why. */
const SERVER_THRESHOLD = 30;
const PROBE_THRESHOLD = 35;

const variants: Record<string, UnitInput> = {
  "an ordinary service": sample(),
  "a service of root in /root": sample({ user: "root", environmentPath: "/root/ml-env" }),
  "a service with an API key, a part of the cards and restarts": sample({
    apiKey: true,
    visibleGpus: ["GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1"],
    onDegenerate: "restart",
  }),
  "arguments that need quoting": sample({
    arguments: [
      "--model-loader-extra-config",
      '{"enable_multithread_load": true}',
      "--chat-template",
      "100% $HOME \\ it's",
    ],
  }),
};

const describeWithSystemd = HAS_SYSTEMD ? describe : describe.skip;

describeWithSystemd(
  "what systemd says about the units (skipped where systemd-analyze is not installed)",
  () => {
    test.each(Object.entries(variants))("accepts %s without a word", (_, input) => {
      const files = renderServiceFiles(input);
      const units = Object.keys(files).filter((file) => file.startsWith("/etc/systemd/system/"));
      const result = withFakeRoot(files, (root) =>
        analyze(root, "verify", "--man=no", ...units.map((file) => path.basename(file))),
      );
      expect(result.stderr).toBe("");
      expect(result.status).toBe(0);
      expect(units.length).toBe(3);
    });

    test.each([false, true])("accepts a router, with an API key: %s, and rates it", (apiKey) => {
      const files = renderRouterFiles(routerSample({ apiKey, after: ["sglang-qwen.service"] }));
      const units = Object.keys(files).filter((file) => file.startsWith("/etc/systemd/system/"));
      const result = withFakeRoot(files, (root) => {
        const names = units.map((file) => path.basename(file));
        const rating = analyze(
          root,
          "security",
          "--offline=true",
          `--threshold=${SERVER_THRESHOLD}`,
          "sglang-front.service",
        );
        return { verified: analyze(root, "verify", "--man=no", ...names), rated: rating.status };
      });
      expect(result.verified.stderr).toBe("");
      expect(result.rated).toBe(0);
      expect(units.length).toBe(3);
    });

    test("accepts two services that exclude each other", () => {
      const files = {
        ...renderServiceFiles(sample({ name: "kimi", conflicts: ["sglang-qwen.service"] })),
        ...renderServiceFiles(sample({ name: "qwen", conflicts: ["sglang-kimi.service"] })),
      };
      const result = withFakeRoot(files, (root) =>
        analyze(root, "verify", "--man=no", "sglang-qwen.service", "sglang-kimi.service"),
      );
      expect(result.stderr).toBe("");
    });

    test("complains about an unknown key, so that the empty standard error above means something", () => {
      const files = {
        "/etc/systemd/system/bad.service": "[Service]\nExecStart=/usr/bin/env true\nNoSuchKey=1\n",
      };
      const result = withFakeRoot(files, (root) => analyze(root, "verify", "--man=no", "bad.service"));
      expect(result.stderr).toContain("NoSuchKey");
    });

    test.each([
      ["sglang-qwen.service", SERVER_THRESHOLD],
      ["sglang-qwen-probe.service", PROBE_THRESHOLD],
    ])("rates the exposure of %s at most %d", (unit, threshold) => {
      const result = withFakeRoot(renderServiceFiles(sample()), (root) =>
        analyze(root, "security", "--offline=true", "--no-pager", `--threshold=${threshold}`, unit),
      );
      expect({ status: result.status, rating: result.stdout.trim().split("\n").at(-1) }).toEqual({
        status: 0,
        rating: expect.stringContaining("Overall exposure level") as string,
      });
    });
  },
);
