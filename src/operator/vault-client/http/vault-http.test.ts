import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { json, raw, refuse, reset, ScriptedServer, type Script } from "../../../../test/support/vault/scripted-server.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { operationPath } from "../../../protocol/operations.ts";
import { Circuit } from "./circuit-breaker.ts";
import { Exchange } from "./vault-http.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { Transport, type TransportRequest } from "./vault-transport.ts";

const request: TransportRequest = {
  operation: "expose",
  body: {},
  maxBytes: 100,
  deadlineMs: 10_000,
  signal: new AbortController().signal,
};

async function world(
  ...scripts: Script[]
): Promise<{ server: ScriptedServer; clock: VirtualClock; exchange: Exchange; outcomes: string[] }> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(operationPath.expose, ...scripts);
  const clock = new VirtualClock();
  const transport = new Transport({
    url: server.url,
    clock,
    ca: undefined,
    policy: { allowHttp: true, allowedHosts: undefined },
  });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const circuit = new Circuit(
    clock,
    () => 0.5,
    () => undefined,
  );
  const outcomes: string[] = [];
  const observer = {
    call: (...[, outcome]: [string, string, number]) => void outcomes.push(outcome),
    circuit: () => undefined,
    cache: () => undefined,
  };
  const exchange = new Exchange({ transport, circuit, limiter: new RateLimiter(1, clock), clock, observer });
  return { server, clock, exchange, outcomes };
}

test("304 is an answer to a question by etag only", async () => {
  const { exchange, clock, outcomes } = await world(raw("", 304));
  expect((await exchange.send({ ...request, ifNoneMatch: '"x"' })).status).toBe(304);
  await clock.advance(60_000);
  expect(await failureOf(exchange.send(request))).toMatchObject({ kind: "unexpected-response", field: "body" });
  expect(outcomes).toEqual(["unchanged", "unexpected-response"]);
});

test("after a 429 calls go at half the rate", async () => {
  const { server, exchange, clock } = await world(refuse(429, "rate_limited"), json({}));
  await failureOf(exchange.send(request));
  await clock.advance(60_000);
  await exchange.send(request);
  const second = exchange.send(request);
  // A full bucket would let two go; a halved one makes the second wait.
  await clock.advance(100);
  expect(server.calls).toHaveLength(2);
  await clock.advance(2_000);
  await second;
});

test("each call that was sent is counted once by its outcome, those held back are not", async () => {
  const { exchange, clock, outcomes } = await world(
    json({}),
    refuse(404, "secret_not_found"),
    reset,
    refuse(429, "rate_limited"),
  );
  for (let call = 0; call < 4; call += 1) {
    await exchange.send(request).catch(() => undefined);
    await clock.advance(10_000);
    if (call === 3) await failureOf(exchange.send({ ...request, signal: AbortSignal.abort() }));
  }
  expect(outcomes).toEqual(["ok", "permanent", "transient", "rate-limited", "aborted"]);
  const { exchange: limited, outcomes: sent } = await world(refuse(429, "rate_limited", { "retry-after": "60" }));
  await failureOf(limited.send(request));
  await failureOf(limited.send(request));
  expect(sent).toEqual(["rate-limited"]);
});
