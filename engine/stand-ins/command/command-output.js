// The output of a running command: kept whole, and shown line by line while it comes.
"use strict";

/** The official log reader stops at a longer line, and the run never ends. */
const LONGEST_LOGGED_LINE = 64 * 1024;
const NEWLINE = 10;

class CommandOutput {
  #pieces = { stdout: [], stderr: [], both: [] };
  #logging;
  #show;
  #unfinishedLine = Buffer.alloc(0);
  #lineTooLong = false;

  /**
   * @param logging what is shown: "stdout", "stderr", "none", or all of it ("stdoutAndStderr", the default)
   * @param show called with each whole line
   */
  constructor(logging = "stdoutAndStderr", show) {
    this.#logging = logging;
    this.#show = show;
  }

  /** Take a piece of output. @param stream "stdout" or "stderr" */
  add(stream, data) {
    this.#pieces[stream].push(data);
    this.#pieces.both.push(data);
    if (this.#logging === stream || this.#logging === "stdoutAndStderr") this.#showLines(data);
  }

  /**
   * The outputs of a command that has ended.
   * @param failure what went wrong, if anything
   * @throws on a failure, with the command and all output; and where the official provider would hang
   */
  result(failure, command) {
    if (this.#unfinishedLine.length > 0) this.#show(text(this.#unfinishedLine));
    if (failure) throw new Error(`${failure}: running ${JSON.stringify(command)}:\n${this.#all("both")}`);
    if (this.#lineTooLong) {
      const remedy = `the official provider would hang here; use logging: "none"`;
      throw new Error(`stand-in: a logged line is ${LONGEST_LOGGED_LINE} bytes or longer: ${remedy}`);
    }
    return { stdout: this.#trimmed("stdout"), stderr: this.#trimmed("stderr") };
  }

  #showLines(data) {
    let rest = Buffer.concat([this.#unfinishedLine, data]);
    for (let end; (end = rest.indexOf(NEWLINE)) >= 0; rest = rest.subarray(end + 1)) {
      if (end >= LONGEST_LOGGED_LINE) this.#lineTooLong = true;
      this.#show(text(rest.subarray(0, end)));
    }
    if (rest.length >= LONGEST_LOGGED_LINE) this.#lineTooLong = true;
    this.#unfinishedLine = rest;
  }

  #all(stream) {
    return Buffer.concat(this.#pieces[stream]).toString();
  }

  #trimmed(stream) {
    return this.#all(stream).replace(/\n$/, "");
  }
}

const text = (line) => line.toString().replace(/\r$/, "");

module.exports = { CommandOutput };
