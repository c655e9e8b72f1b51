// The language host: tells the engine which plugins a Node.js program needs, and runs the program.
// It covers what preview, up, refresh and destroy need; `pulumi install` and `pulumi about` it does not.
"use strict";
const { proto, wellKnown, unary, serve, engineAddressArgument } = require("../plugin-server.js");
const { requiredPackages } = require("./program-packages.js");
const { runProgram, stopPrograms } = require("./run-program.js");
const { version: sdkVersion } = require("@pulumi/pulumi/package.json");

const language = proto("language_pb.js");
const plugin = proto("plugin_pb.js");
const { LanguageRuntimeService } = proto("language_grpc_pb.js");
const { Empty } = wellKnown("empty");

function main() {
  let engineAddress = engineAddressArgument();
  const handlers = {
    handshake: unary((request) => {
      engineAddress = request.getEngineAddress();
      return new language.LanguageHandshakeResponse();
    }),
    getPluginInfo: unary(() => new plugin.PluginInfo().setVersion(sdkVersion)),
    getRequiredPackages: unary((request) => {
      const packages = requiredPackages(request.getInfo().getProgramDirectory());
      return new language.GetRequiredPackagesResponse().setPackagesList(packages.map(dependency));
    }),
    run: unary((request, call) => runProgram(request, call, engineAddress)),
    cancel: unary(() => {
      stopPrograms();
      return new Empty();
    }),
  };
  serve(LanguageRuntimeService, handlers, stopPrograms);
}

function dependency({ name, version, server }) {
  return new plugin.PackageDependency()
    .setKind("resource")
    .setName(name)
    .setVersion(`v${version}`)
    .setServer(server);
}

module.exports = { main };
