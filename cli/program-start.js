/**
 * What Pulumi's program is started with (`nodeargs` in Pulumi.yaml): TypeScript, and less of the SDK. Over half of what loading the SDK
 * costs is TypeScript's compiler and npm's resolver, with which it turns functions into text for clouds; nothing here does that, so they
 * are loaded when something asks for them.
 */
"use strict";
const nodeModule = require("node:module");
const path = require("node:path");
const loadLazily = require("./load-lazily.js");
require("./typescript.js");

loadLazily(path.join("@pulumi", "pulumi", "runtime", "closure"), [
  "../../typescript-shim",
  "@npmcli/arborist",
]);
// What drives stacks from a program; this one is driven.
loadLazily(path.join("@pulumi", "pulumi"), ["./automation"]);

// What sends traces; only `--tracing` asks for it.
loadLazily(path.join("@pulumi", "pulumi", "cmd", "run"), [
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/exporter-zipkin",
  "@opentelemetry/instrumentation-grpc",
  "@opentelemetry/sdk-trace-node",
  "@opentelemetry/instrumentation",
]);

// Pulumi's runner brings a mapper of stack traces that does not know what was compiled here, and makes each trace dear: the SDK takes one
// for every promise. Node's own stays.
const loadTypeScript = nodeModule._extensions[".ts"];
nodeModule._extensions[".ts"] = (module, filename) => {
  Error.prepareStackTrace = undefined;
  loadTypeScript(module, filename);
};
