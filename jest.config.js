const { homedir } = require("node:os");
const { join } = require("node:path");

const CACHE = process.env.PROXMOX_GPU_STACK_CACHE ?? join(homedir(), ".cache", "proxmox-gpu-stack");

// Three projects: "unit" needs nothing but Node; "lab" drives the embedded lab and the real engine; "faults" does too, for longer
// (test/faults/run).
const common = {
  // Outside the tree: a fresh checkout finds what was compiled, and how long each file takes, so that the longest come first.
  cacheDirectory: join(CACHE, "jest"),
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { target: "es2022", parser: { syntax: "typescript" } }, module: { type: "commonjs" } },
    ],
  },
  // @pulumi/pulumi keeps an AsyncLocalStorage that jest 30 would delete between files, with a warning.
  testEnvironmentOptions: { globalsCleanup: "off" },
};

module.exports = {
  // Bounds a test that hangs (a project's own value would not count); how fast things are is measured in bench/, not here.
  testTimeout: 60_000,
  globalSetup: "<rootDir>/test/jest-set-up.ts",
  globalTeardown: "<rootDir>/test/jest-tear-down.ts",
  projects: [
    {
      ...common,
      displayName: "unit",
      testMatch: ["<rootDir>/test/**/*.test.ts"],
      testPathIgnorePatterns: ["/node_modules/", "<rootDir>/test/lab/", "<rootDir>/test/faults/"],
    },
    {
      ...common,
      displayName: "lab",
      testMatch: ["<rootDir>/test/lab/**/*.test.ts"],
    },
    {
      ...common,
      displayName: "faults",
      testMatch: ["<rootDir>/test/faults/**/*.test.ts"],
    },
  ],
};
