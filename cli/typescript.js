/**
 * Lets node load TypeScript: `node --require ./cli/typescript.js FILE.ts`. Types are only taken away (`make lint` checks them), and what was
 * compiled once is kept by its content, so that a start loads no compiler: that alone took longer than all of the program.
 */
"use strict";
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const nodeModule = require("node:module");
const path = require("node:path");
const { version } = require("@swc/core/package.json");
const loadLazily = require("./load-lazily.js");

const CACHE = path.join(__dirname, "..", "node_modules", ".cache", "typescript");
const OPTIONS = {
  jsc: { target: "es2022", parser: { syntax: "typescript" } },
  module: { type: "commonjs" },
  sourceMaps: "inline",
  inlineSourcesContent: false,
};

function compile(source, filename) {
  const { code } = require("@swc/core").transformSync(source, { ...OPTIONS, filename });
  return code;
}

/** Written aside and renamed: several programs may start at once. A cache that cannot be written is no reason to fail. */
function keep(file, code) {
  const aside = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(CACHE, { recursive: true });
    fs.writeFileSync(aside, code);
    fs.renameSync(aside, file);
  } catch {
    fs.rmSync(aside, { force: true });
  }
}

function compiled(filename) {
  const source = fs.readFileSync(filename, "utf8");
  const key = [version, JSON.stringify(OPTIONS), filename, source].join("\0");
  const file = path.join(CACHE, `${createHash("sha256").update(key).digest("hex")}.js`);
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    const code = compile(source, filename);
    keep(file, code);
    return code;
  }
}

nodeModule._extensions[".ts"] = (module, filename) => {
  process.setSourceMapsEnabled(true);
  module._compile(compiled(filename), filename);
};

// Errors name lines of the sources; ours only, because node reads the maps of packages when it loads them, needed or not.
const loadJavaScript = nodeModule._extensions[".js"];
nodeModule._extensions[".js"] = (module, filename) => {
  process.setSourceMapsEnabled(false);
  try {
    loadJavaScript(module, filename);
  } finally {
    process.setSourceMapsEnabled(true);
  }
};
process.setSourceMapsEnabled(true);
// From Node.js 22 on, V8 keeps what it compiled too, of every package.
nodeModule.enableCompileCache?.();
// Messages in fifty languages; English is loaded by itself.
loadLazily(path.join("zod", "v4", "core"), ["../locales/index.cjs"]);
loadLazily(path.join("zod", "v4", "classic"), ["../locales/index.cjs"]);
