// One create, update or delete: messages to the engine in their order, a deadline, and whether it was cancelled.
"use strict";
const { grpc, proto, UNLIMITED } = require("../plugin-server.js");

const messages = proto("engine_pb.js");
const { EngineClient } = proto("engine_grpc_pb.js");

const SEVERITIES = {
  info: messages.LogSeverity.INFO,
  warning: messages.LogSeverity.WARNING,
  error: messages.LogSeverity.ERROR,
};

let engine;
let cancelled = false;

/** Say where the engine listens for messages; without an address messages are dropped. */
function connectToEngine(address) {
  if (address) engine = new EngineClient(address, grpc.credentials.createInsecure(), UNLIMITED);
}

/** The engine wants all operations to end: those that wait for a host give up. */
function cancelOperations() {
  cancelled = true;
}

class Operation {
  #urn;
  #sent = Promise.resolve();
  #deadline;

  /**
   * @param urn the resource that messages belong to
   * @param timeoutSeconds the resource's customTimeouts for this operation; 0 for none
   */
  constructor(urn, timeoutSeconds) {
    this.#urn = urn;
    this.#deadline = timeoutSeconds > 0 ? Date.now() + timeoutSeconds * 1000 : Infinity;
  }

  /** Show a line beside the resource while it is worked on. */
  status(text) {
    this.#log("info", text, true);
  }

  /** Show a line that stays. Severity is "warning" or "error". */
  report(severity, text) {
    this.#log(severity, text, false);
  }

  /** Resolves when the engine has all messages. */
  flushed() {
    return this.#sent;
  }

  /** Wait; throws when the operation was cancelled or its time is over. */
  async sleep(milliseconds) {
    const left = Math.max(this.#deadline - Date.now(), 0);
    await new Promise((resolve) => setTimeout(resolve, Math.min(milliseconds, left)));
    if (cancelled) throw new Error("context canceled");
    if (Date.now() >= this.#deadline) throw new Error("context deadline exceeded");
  }

  #log(severity, text, ephemeral) {
    if (!engine) return;
    const request = new messages.LogRequest()
      .setSeverity(SEVERITIES[severity])
      .setMessage(text)
      .setUrn(this.#urn)
      .setEphemeral(ephemeral);
    this.#sent = this.#sent.then(() => new Promise((done) => engine.log(request, () => done())));
  }
}

module.exports = { connectToEngine, cancelOperations, Operation };
