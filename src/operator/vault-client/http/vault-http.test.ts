import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import {
  json,
  raw,
  errorResponse,
  reset,
  type Script,
  type ScriptedServer,
} from "../../../../test/support/vault/scripted-server.ts";
import { scriptedTransport } from "../../../../test/support/vault/scripted-transport.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { VaultHttp } from "./vault-http.ts";
import { ListGate } from "./list-gate.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { VaultRequest } from "./vault-transport.ts";

const request: VaultRequest = {
  operation: "expose",
  body: {},
  maxBytes: 100,
  deadlineMs: 10_000,
  signal: new AbortController().signal,
};

async function world(
  ...scripts: Script[]
): Promise<{ server: ScriptedServer; clock: VirtualClock; http: VaultHttp; outcomes: string[] }> {
  const clock = new VirtualClock();
  const { server, transport } = await scriptedTransport(clock);
  server.on(operationPath.expose, ...scripts);
  const breaker = new CircuitBreaker({ clock, untilProbe: () => 0, onChange: () => undefined });
  const outcomes: string[] = [];
  const observer = {
    requestEnded: (...[, outcome]: [string, string, number]) => void outcomes.push(outcome),
    circuitBreakerChanged: () => undefined,
    valueCacheRead: () => undefined,
  };
  const http = new VaultHttp({
    gate: new ListGate(clock),
    transport,
    breaker,
    limiter: new RateLimiter(1, clock),
    clock,
    observer,
  });
  return { server, clock, http, outcomes };
}

test("accepts 304 only for a conditional request", async () => {
  const { http, clock, outcomes } = await world(raw("", 304));
  expect((await http.send({ ...request, ifNoneMatch: '"x"' })).status).toBe(304);
  await clock.advance(60_000);
  expect(await failureOf(http.send(request))).toMatchObject({ kind: "unexpected-response", field: "body" });
  expect(outcomes).toEqual(["unchanged", "unexpected-response"]);
});

test("halves the request rate after a 429", async () => {
  const { server, http, clock } = await world(errorResponse(429, "rate_limited"), json({}));
  await failureOf(http.send(request));
  await clock.advance(60_000);
  await http.send(request);
  const second = http.send(request);
  // A full bucket would admit two; a halved one delays the second.
  await clock.advance(100);
  expect(server.requests).toHaveLength(2);
  await clock.advance(2_000);
  await second;
});

test("reports each sent request once by its outcome, and no request that was not sent", async () => {
  const { http, clock, outcomes } = await world(
    json({}),
    errorResponse(404, "secret_not_found"),
    reset,
    errorResponse(429, "rate_limited"),
  );
  for (let sent = 0; sent < 4; sent += 1) {
    await http.send(request).catch(() => undefined);
    await clock.advance(10_000);
    if (sent === 3) await failureOf(http.send({ ...request, signal: AbortSignal.abort() }));
  }
  expect(outcomes).toEqual(["ok", "permanent", "transient", "rate-limited", "aborted"]);
  const { http: limited, outcomes: observed } = await world(errorResponse(429, "rate_limited", { "retry-after": "60" }));
  await failureOf(limited.send(request));
  await failureOf(limited.send(request));
  expect(observed).toEqual(["rate-limited"]);
});
