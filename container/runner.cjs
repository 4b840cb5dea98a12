// Runs one program for the proxy, in lines of JSON: the proxy writes the program, and later answers
// to calls; this writes calls, what is printed, and what became of the program.
//
// The program can do all that this can. The proxy believes nothing that it reads.
"use strict";
{ // whose names the program does not see
  const { writeSync } = require("node:fs");
  const { Console } = require("node:console");
  const { createInterface } = require("node:readline");
  const { createRequire } = require("node:module");
  const { Writable } = require("node:stream");
  const { inspect } = require("node:util");
  const vm = require("node:vm");

  const { parse, stringify } = JSON;
  const file = "program.js";
  const wait = new Int32Array(new SharedArrayBuffer(4));
  const waiting = new Map(); // calls without an answer, as many as the proxy answers at once
  const queued = new Map(); // calls that are not sent yet
  let begun; // what the proxy has sent first
  let calls = 0;

  // What JSON would lose, as in programs without a container.
  Map.prototype.toJSON = function () { return Object.fromEntries(this); };
  Set.prototype.toJSON = function () { return Array.from(this); };
  BigInt.prototype.toJSON = function () { return this.toString(); };

  // send writes a line before it returns: what was printed is there whatever happens next.
  function send(message) {
    sendLine(lineOf(message));
  }

  function lineOf(message) {
    const line = Buffer.from(stringify(message) + "\n");
    if (begun && line.length > begun.maxBytes) {
      throw new RangeError(`${line.length} bytes at once; ${begun.maxBytes} are allowed`);
    }
    return line;
  }

  function sendLine(line) {
    for (let at = 0; at < line.length; ) {
      try {
        at += writeSync(1, line, at);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
        Atomics.wait(wait, 0, 0, 5);
      }
    }
  }

  function write(text) {
    for (let at = 0; at < text.length; at += 65536) send({ print: text.slice(at, at + 65536) });
  }

  function print(...values) {
    write(values.map((v) => (typeof v === "string" ? v : (stringify(v) ?? String(v)))).join(" ") + "\n");
  }

  // host calls a function of the proxy. While an answer is missing, stdin keeps the process alive.
  function host(name, args) {
    const failure = new Error(); // here, where the stack still leads to the program
    return new Promise((resolve, reject) => {
      const line = lineOf({ call: ++calls, function: name, arguments: args });
      queued.set(calls, { resolve, reject, failure, line });
      next();
    });
  }

  // next sends calls while there is room: more could fill both pipes, and neither side would read.
  function next() {
    for (const [id, call] of queued) {
      if (waiting.size >= begun.callsAtOnce) return;
      queued.delete(id);
      waiting.set(id, call);
      process.stdin.ref();
      sendLine(call.line);
    }
  }

  function answered({ id, value, error }) {
    const call = waiting.get(id);
    if (!call) return;
    waiting.delete(id);
    next();
    if (waiting.size === 0) process.stdin.unref();
    if (error === undefined) return call.resolve(value);
    call.failure.message = error;
    call.reject(call.failure);
  }

  // place is where in the program an error began, from 1: {line, column}, or {}.
  function place(error) {
    const stack = String(error?.stack);
    const syntax = /^program\.js:(\d+)\n.*\n( *)\^/.exec(stack);
    if (syntax) return { line: +syntax[1], column: syntax[2].length + 1 };
    const frame = /program\.js:(\d+):(\d+)/.exec(stack);
    return frame ? { line: +frame[1], column: +frame[2] } : {};
  }

  function failed(error) {
    let text = error instanceof Error ? String(error.name) : "thrown: " + inspect(error);
    if (error instanceof Error && error.message) text += ": " + error.message;
    send({ error: { text: text.slice(0, 4096), ...place(error) } });
    process.exit(0);
  }

  function compiled({ source, functions }) {
    const names = ["args", "state", "print", "require", ...functions];
    const script = new vm.Script(`(async (${names}) => {\n${source}\n})`, {
      filename: file,
      lineOffset: -1,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    return script.runInThisContext();
  }

  async function run(program) {
    const run = compiled(program);
    if (program.check) return send({ done: true });
    const state = stringify(program.state);
    const held = parse(state);
    const functions = program.functions.map((name) => async (...args) => {
      const value = await host(name, args);
      if (name !== "lines" || typeof value !== "string") return value;
      return value.replace(/\r?\n$/, "").split(/\r?\n/);
    });
    const value = await run(program.args, held, print, createRequire(process.cwd() + "/"), ...functions);
    const after = stringify(held);
    send({ done: true, value, state: after === state ? undefined : held });
  }

  const out = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      write(String(chunk));
      done();
    },
  });
  globalThis.console = new Console(out, out);
  Object.defineProperty(process, "stdout", { value: out });
  Object.defineProperty(process, "stderr", { value: out });
  process.on("uncaughtException", failed);
  process.on("beforeExit", () => failed(new Error("the program waits for a promise that nothing will settle")));

  createInterface({ input: process.stdin })
    .on("close", () => process.exit(1))
    .on("line", (line) => {
      const message = parse(line);
      if (begun) return answered(message);
      begun = message;
      process.stdin.unref();
      send({ begun: true });
      run(message).then(() => process.exit(0), failed);
    });
}
