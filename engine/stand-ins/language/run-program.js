// Runs a program: node, with the SDK's own `cmd/run` as its main module.
"use strict";
const { spawn } = require("child_process");
const path = require("path");
const { createRequire } = require("module");
const { proto } = require("../plugin-server.js");
const { runtimeOptions } = require("./runtime-options.js");

const language = proto("language_pb.js");

/** By this exit code `cmd/run` says that the user has been shown a good message already. */
const ALREADY_REPORTED = 32;

/** A program gets as long to end as the engine gives a plugin. */
const SECONDS_TO_END = 5;

const running = new Set();

/** Run the program of a RunRequest; resolves to a RunResponse, with its error text when the program failed. */
function runProgram(request, call, engineAddress) {
  const failed = (message) => new language.RunResponse().setError(message);
  if (request.getAttachDebugger()) return failed("stand-in: --attach-debugger is not covered");
  let command;
  try {
    command = programCommand(request, engineAddress);
  } catch (error) {
    return failed(error.message);
  }
  return new Promise((resolve) => {
    // What the program prints goes to our own stdout and stderr, and the engine shows both.
    const child = spawn("node", command.arguments, {
      cwd: request.getInfo().getProgramDirectory(),
      env: command.environment,
      stdio: ["ignore", "inherit", "inherit"],
    });
    running.add(child);
    call.on("cancelled", () => interrupt(child));
    child.on("error", (error) => resolve(failed(`could not run node: ${error.message}`)));
    child.on("close", (code) => {
      running.delete(child);
      if (code === 0) resolve(new language.RunResponse());
      else if (code === ALREADY_REPORTED) resolve(new language.RunResponse().setBail(true));
      else resolve(failed(`Program exited with non-zero exit code: ${code ?? -1}`));
    });
  });
}

/** End all running programs. */
function stopPrograms() {
  running.forEach(interrupt);
}

function interrupt(child) {
  child.kill("SIGINT");
  setTimeout(() => child.kill("SIGKILL"), SECONDS_TO_END * 1000).unref();
}

function programCommand(request, engineAddress) {
  const info = request.getInfo();
  const options = runtimeOptions(info.getOptions()?.toJavaScript());
  const environment = {
    ...process.env,
    PULUMI_CONFIG: configurationJson(request.getConfigMap()),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
  if (options.typescript) environment.PULUMI_NODEJS_TYPESCRIPT = "true";
  if (options.tsconfig) environment.PULUMI_NODEJS_TSCONFIG_PATH = options.tsconfig;

  const flags = {
    monitor: request.getMonitorAddress(),
    engine: engineAddress,
    organization: request.getOrganization(),
    project: request.getProject(),
    "root-directory": info.getRootDirectory(),
    stack: request.getStack(),
    pwd: info.getProgramDirectory(),
    parallel: String(request.getParallel()),
  };
  return {
    environment,
    arguments: [
      ...options.nodeargs,
      sdkRunner(info.getProgramDirectory()),
      ...Object.entries(flags).flatMap(([name, value]) => (value ? [`--${name}`, value] : [])),
      ...(request.getDryrun() ? ["--dry-run"] : []),
      info.getEntryPoint(),
      ...request.getArgsList(),
    ],
  };
}

/** The `cmd/run` of the program's own SDK. */
function sdkRunner(programDirectory) {
  try {
    return createRequire(path.join(programDirectory, "program.js")).resolve("@pulumi/pulumi/cmd/run");
  } catch {
    throw new Error(`@pulumi/pulumi is not installed in ${programDirectory}: run npm ci there`);
  }
}

/** The configuration as JSON; "project:key" becomes "project:config:key", the form that every SDK reads. */
function configurationJson(map) {
  const configuration = {};
  map.forEach((value, key) => {
    const [namespace, ...rest] = key.split(":");
    configuration[rest[0] === "config" ? key : `${namespace}:config:${rest.join(":")}`] = value;
  });
  return JSON.stringify(configuration);
}

module.exports = { runProgram, stopPrograms };
