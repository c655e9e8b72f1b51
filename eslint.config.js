const js = require("@eslint/js");
const tseslint = require("typescript-eslint");
const pulumi = require("@pulumi/eslint-plugin");

/** Packages that only one file may import, and the file. */
const SINGLE_USERS = {
  "@pulumi/command": "components/remote-step.ts",
  "@muhlba91/pulumi-proxmoxve": "components/gpu-container.ts",
};

const providers = Object.entries(SINGLE_USERS).map(([name, file]) => ({
  group: [name, `${name}/*`],
  message: `only ${file} may use ${name}`,
}));

const pulumiImports = {
  group: ["@pulumi/*", "@muhlba91/*"],
  message: "config, catalog and plan are plain TypeScript",
};

/** What a folder may not import: an array of gitignore-style patterns of relative paths. */
const noImports = (folders, why) => ({
  group: folders.flatMap((f) => [`**/${f}/**`, `../${f}`, `../${f}/*`]),
  message: why,
});

const restrict = (patterns) => ({ "no-restricted-imports": ["error", { patterns }] });

module.exports = tseslint.config(
  { ignores: ["node_modules/", ".lab/", "coverage/"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  {
    files: ["**/*.ts"],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: __dirname } },
    plugins: { "@pulumi": pulumi },
    rules: {
      "@pulumi/no-output-in-template-literal": "error",
      "@typescript-eslint/no-floating-promises": "error",
      // A string-keyed map is the natural type of what YAML and JSON give.
      "@typescript-eslint/no-dynamic-delete": "off",
    },
  },
  { files: ["{components,cli,test}/**/*.ts", "index.ts"], rules: restrict(providers) },
  {
    files: ["catalog/**/*.ts"],
    rules: restrict([
      pulumiImports,
      noImports(["config", "plan", "components", "cli"], "catalog imports nothing of ours"),
    ]),
  },
  {
    files: ["config/**/*.ts"],
    rules: restrict([pulumiImports, noImports(["plan", "components", "cli"], "config imports catalog only")]),
  },
  {
    files: ["plan/**/*.ts"],
    rules: restrict([
      pulumiImports,
      noImports(["components", "cli"], "plan imports catalog and config only"),
    ]),
  },
  // Each of the two files may use its own package, and only that.
  ...Object.entries(SINGLE_USERS).map(([name, file]) => ({
    files: [file],
    rules: restrict(providers.filter(({ group }) => !group.includes(name))),
  })),
  {
    files: ["**/*.js"],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: {
      sourceType: "commonjs",
      globals: {
        require: "readonly",
        module: "writable",
        process: "readonly",
        __dirname: "readonly",
        __filename: "readonly",
        Buffer: "readonly",
        setTimeout: "readonly",
        setImmediate: "readonly",
        console: "readonly",
      },
    },
  },
  { files: ["**/*.js"], rules: { "@typescript-eslint/no-require-imports": "off" } },
);
