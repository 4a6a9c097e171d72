import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import {
  json,
  raw,
  ScriptedServer,
  type Script,
} from "../../../../test/lab/vault/scripted-vault.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { TransientError } from "../vault-error.ts";
import { UndiciTransport } from "./undici-transport.ts";
import type { VaultRequest } from "./vault-transport.ts";

async function serve(script: Script) {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(operationPath.list_no_dup, script);
  const clock = new VirtualClock();
  const policy = { allowHttp: true, allowedHosts: undefined };
  const transport = new UndiciTransport({ url: server.url, clock, ca: undefined, policy });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  return { server, transport, clock };
}

const request = (more: Partial<VaultRequest>): VaultRequest => ({
  operation: "list_no_dup",
  body: {},
  maxBytes: 1_000,
  deadlineMs: 10_000,
  signal: new AbortController().signal,
  ...more,
});

const unfinished: Script = (response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write("{");
};

test("the body of a list is read when there is memory for it, and not before", async () => {
  const body = "x".repeat(1024 * 1024);
  const { server, transport } = await serve(raw(body, 200, { "content-length": `${body.length}` }));
  server.on(operationPath.expose, raw(body));
  const announced: unknown[] = [];
  const lengths: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const memory = {
    reserve: (length: number | undefined) => (announced.push(length), promise),
    grow: (length: number) => lengths.push(length),
    timeout: () => new Error("not expected"),
  };
  const response = transport.request(request({ maxBytes: body.length, memory }));
  await expect.poll(() => announced).toEqual([body.length]);
  // Another body, requested later, arrives first.
  await transport.request(request({ operation: "expose", maxBytes: body.length }));
  expect(lengths).toEqual([]);
  resolve();
  expect((await response).body.byteLength).toBe(body.length);
  expect(lengths.at(-1)).toBe(body.length);
});

test("a deadline that passes while a body waits for memory is a lack of memory", async () => {
  const { transport, clock } = await serve(json({ secrets: [] }));
  const noMemory = new TransientError("list_no_dup", "no_memory");
  let isWaiting = false;
  const memory = {
    reserve: async (_: number | undefined, signal: AbortSignal) => {
      isWaiting = true;
      await once(signal, "abort");
      throw noMemory;
    },
    grow: () => undefined,
    timeout: () => new Error("not expected"),
  };
  const failure = failureOf(transport.request(request({ memory })));
  await expect.poll(() => isWaiting).toBe(true);
  await clock.advance(10_000);
  expect(await failure).toBe(noMemory);
});

test("a body that keeps its memory for 30 s fails with the error of the memory", async () => {
  const { transport, clock } = await serve(unfinished);
  const late = new TransientError("list_no_dup", "timeout");
  const lengths: number[] = [];
  const memory = {
    reserve: () => Promise.resolve(),
    grow: (length: number) => lengths.push(length),
    timeout: () => late,
  };
  const failure = failureOf(transport.request(request({ memory, deadlineMs: 60_000 })));
  await expect.poll(() => lengths).toEqual([1]);
  await clock.advance(30_000);
  expect(await failure).toBe(late);
});

test("a response that ends while it waits for memory fails when the memory is taken", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { server, transport } = await serve(unfinished);
  let isWaiting = false;
  const memory = {
    reserve: () => ((isWaiting = true), promise),
    grow: () => undefined,
    timeout: () => new Error("not expected"),
  };
  let isSettled = false;
  const failure = failureOf(transport.request(request({ memory })));
  void failure.then(() => (isSettled = true));
  await expect.poll(() => isWaiting).toBe(true);
  await server[Symbol.asyncDispose]();
  expect(isSettled).toBe(false);
  resolve();
  expect(await failure).toMatchObject({ kind: "transient", code: "reset" });
});
