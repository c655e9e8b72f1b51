// The command provider as a gRPC service. It covers remote.Command and remote.CopyToRemote, as pulumi-command
// 1.2.1 behaves (docs in engine/README.md).
"use strict";
const crypto = require("crypto");
const { proto, wellKnown, unary, serve, engineAddressArgument } = require("../plugin-server.js");
const { UNKNOWN, plain } = require("./values.js");
const { diff } = require("./diff.js");
const { checkInputs, isInternal } = require("./check.js");
const { resourceOf } = require("./resources.js");
const { connectToEngine, cancelOperations, Operation } = require("./operation.js");
const { version } = require("@pulumi/command/package.json");

const provider = proto("provider_pb.js");
const plugin = proto("plugin_pb.js");
const { ResourceProviderService } = proto("provider_grpc_pb.js");
const { Empty } = wellKnown("empty");
const { Struct } = wellKnown("struct");

const values = (struct) => struct?.toJavaScript() ?? {};
const struct = (object) => Struct.fromJavaScript(object);

function main() {
  connectToEngine(engineAddressArgument());
  serve(ResourceProviderService, {
    getPluginInfo: unary(() => new plugin.PluginInfo().setVersion(version)),
    attach: unary((request) => {
      connectToEngine(request.getAddress());
      return new Empty();
    }),
    getSchema: unary(() =>
      new provider.GetSchemaResponse().setSchema(JSON.stringify({ name: "command", version })),
    ),
    checkConfig: unary((request) => new provider.CheckResponse().setInputs(request.getNews())),
    diffConfig: unary(() => new provider.DiffResponse()),
    configure: unary(() => new provider.ConfigureResponse().setAcceptsecrets(true).setSupportspreview(true)),
    check: unary(check),
    diff: unary(difference),
    create: unary(create),
    read: unary(read),
    update: unary(update),
    delete: unary(remove),
    cancel: unary(() => {
      cancelOperations();
      return new Empty();
    }),
  });
}

function check(request) {
  const { inputs, failures } = checkInputs(resourceOf(request.getUrn()), values(request.getNews()));
  const failure = ({ property, reason }) =>
    new provider.CheckFailure().setProperty(property).setReason(reason);
  return new provider.CheckResponse().setInputs(struct(inputs)).setFailuresList(failures.map(failure));
}

/** Any changed input is an update, `connection` included. */
function difference(request) {
  const own = (inputs) => Object.fromEntries(Object.entries(inputs).filter(([name]) => !isInternal(name)));
  const changes = diff(own(values(request.getOldInputs())), own(values(request.getNews())));
  const { DIFF_SOME, DIFF_NONE } = provider.DiffResponse.DiffChanges;
  const reply = new provider.DiffResponse()
    .setChanges(changes.size > 0 ? DIFF_SOME : DIFF_NONE)
    .setHasdetaileddiff(true);
  for (const [path, kind] of changes) {
    // A list of triggers that comes or goes replaces; for its elements the SDK asks with replaceOnChanges.
    const replaces = path === "triggers";
    const kindName = replaces ? `${kind.toUpperCase()}_REPLACE` : kind.toUpperCase();
    reply.addDiffs(path);
    if (replaces) reply.addReplaces(path);
    reply
      .getDetaileddiffMap()
      .set(path, new provider.PropertyDiff().setKind(provider.PropertyDiff.Kind[kindName]));
  }
  return reply;
}

async function create(request) {
  const resource = resourceOf(request.getUrn());
  const inputs = values(request.getProperties());
  const reply = new provider.CreateResponse();
  if (request.getPreview()) return reply.setProperties(struct({ ...inputs, ...unknownOutputs(resource) }));
  const outputs = await during(request, (operation) => resource.create(plain(inputs), operation));
  return reply.setId(newId(request.getUrn())).setProperties(struct({ ...inputs, ...outputs }));
}

async function update(request) {
  const resource = resourceOf(request.getUrn());
  const inputs = values(request.getNews());
  const state = values(request.getOlds());
  const reply = new provider.UpdateResponse();
  if (request.getPreview()) return reply.setProperties(struct({ ...inputs, ...unknownOutputs(resource) }));
  const outputs = await during(request, (operation) => {
    return resource.update(plain(inputs), plain(state), operation);
  });
  return reply.setProperties(struct({ ...inputs, ...outputs }));
}

async function remove(request) {
  const state = plain(values(request.getProperties()));
  await during(request, (operation) => resourceOf(request.getUrn()).delete(state, operation));
  return new Empty();
}

/** A command cannot be read back: a refresh gives what is in the state. */
function read(request) {
  return new provider.ReadResponse()
    .setId(request.getId())
    .setProperties(request.getProperties())
    .setInputs(request.getInputs());
}

/** Do the work of a request; its messages are with the engine before the request is answered. */
async function during(request, work) {
  const operation = new Operation(request.getUrn(), request.getTimeout());
  try {
    return await work(operation);
  } finally {
    await operation.flushed();
  }
}

const unknownOutputs = ({ outputs }) => Object.fromEntries(outputs.map((name) => [name, UNKNOWN]));

/** The resource's name and some random characters. */
const newId = (urn) => urn.split("::").slice(3).join("::") + crypto.randomBytes(4).toString("hex");

module.exports = { main };
