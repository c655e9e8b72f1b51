// What both stand-ins share: the protocol's messages, and being a plugin of the Pulumi engine.
// A plugin serves gRPC on a free loopback port, prints that port as its first line, and leaves with the engine.
"use strict";
const fs = require("fs");
const { createRequire } = require("module");

// The messages and gRPC itself are dependencies of @pulumi/pulumi, so that they always fit the pinned SDK.
const sdk = createRequire(require.resolve("@pulumi/pulumi/package.json"));
const grpc = sdk("@grpc/grpc-js");

/** A module of the protocol, such as "provider_pb.js" or "provider_grpc_pb.js". */
const proto = (name) => sdk(`./proto/${name}`);

/** A module of Google's well-known messages, such as "empty" or "struct". */
const wellKnown = (name) => sdk(`google-protobuf/google/protobuf/${name}_pb.js`);

/** gRPC options without the default limit of 4 MiB a message. */
const UNLIMITED = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

/**
 * A gRPC handler out of an (async) function (request, call) => reply.
 * What the function throws is the call's error; its `code`, if any, the gRPC status.
 */
function unary(handle) {
  return async (call, callback) => {
    try {
      callback(null, await handle(call.request, call));
    } catch (error) {
      callback({ code: error.code ?? grpc.status.UNKNOWN, details: error.message });
    }
  };
}

/** The error of a call that a stand-in does not cover. */
function unimplemented(what) {
  return Object.assign(new Error(`stand-in: ${what} is not covered`), { code: grpc.status.UNIMPLEMENTED });
}

/** Handlers for every method of the service; one that is not given answers UNIMPLEMENTED. */
function completed(service, handlers) {
  const missing = (name, { responseStream }) =>
    responseStream
      ? (call) => call.emit("error", { code: grpc.status.UNIMPLEMENTED, details: `${name} is not covered` })
      : unary(() => {
          throw unimplemented(name);
        });
  return Object.fromEntries(
    Object.entries(service).map(([name, definition]) => [name, handlers[name] ?? missing(name, definition)]),
  );
}

/**
 * Serve a plugin until the engine ends it.
 * @param service the gRPC service's definition
 * @param handlers one handler a method
 * @param onLeave called before the process ends
 */
function serve(service, handlers, onLeave = () => {}) {
  const server = new grpc.Server(UNLIMITED);
  server.addService(service, completed(service, handlers));
  server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
    if (error) {
      process.stderr.write(`stand-in: cannot listen on the loopback interface: ${error.message}\n`);
      process.exit(1);
    }
    process.stdout.write(`${port}\n`);
  });

  const leave = () => {
    onLeave();
    process.exit(0);
  };
  // The engine ends a plugin with SIGINT, and kills it five seconds later.
  process.on("SIGINT", leave);
  process.on("SIGTERM", leave);
  // Standard input is a pipe of the engine: it closes when the engine dies, however it dies.
  const input = fs.fstatSync(0);
  if (input.isFIFO() || input.isSocket()) process.stdin.on("end", leave).on("error", leave).resume();
}

/** The address of the engine that a plugin is started with: its last argument that is no flag. */
const engineAddressArgument = () =>
  process.argv
    .slice(2)
    .filter((argument) => !argument.startsWith("-"))
    .at(-1);

module.exports = { grpc, proto, wellKnown, UNLIMITED, unary, unimplemented, serve, engineAddressArgument };
