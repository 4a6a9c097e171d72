import { expect, test } from "vitest";
import { failureOf } from "../../../test/lab/assertions/failure-of.ts";
import {
  json,
  raw,
  errorResponse,
  reset,
  type Script,
  type ScriptedServer,
  scriptedTransport,
} from "../../../test/lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { operationPath } from "../../protocol/operation-paths.ts";
import { CircuitBreaker } from "./http/circuit-breaker.ts";
import { ListGate } from "./http/list-gate.ts";
import { RequestPace } from "./http/request-pace.ts";
import type { VaultRequest } from "./http/vault-transport.ts";
import { valueMemory, VaultApi } from "./vault-api.ts";

const request: VaultRequest = {
  operation: "expose",
  body: {},
  maxBytes: 100,
  deadlineMs: 10_000,
  signal: new AbortController().signal,
};

const unauthorized = (): never => {
  throw new Error("no request is sent with a token");
};

async function world(
  ...scripts: Script[]
): Promise<{ server: ScriptedServer; clock: VirtualClock; api: VaultApi; outcomes: string[] }> {
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
  const api = new VaultApi({
    gate: new ListGate(clock),
    memory: valueMemory(),
    tenant: "shop/",
    transport,
    breaker,
    pace: new RequestPace(1, clock),
    clock,
    observer,
    tokens: unauthorized,
    email: "ann@example.com",
    timeoutMs: 10_000,
  });
  return { server, clock, api, outcomes };
}

test("accepts 304 only for a conditional request", async () => {
  const { api, clock, outcomes } = await world(raw("", 304));
  expect((await api.send({ ...request, ifNoneMatch: '"x"' })).status).toBe(304);
  await clock.advance(60_000);
  expect(await failureOf(api.send(request))).toMatchObject({
    kind: "unexpected-response",
    field: "body",
  });
  expect(outcomes).toEqual(["unchanged", "unexpected-response"]);
});

test("halves the request rate after a 429", async () => {
  const { server, api, clock } = await world(errorResponse(429, "rate_limited"), json({}));
  await failureOf(api.send(request));
  await clock.advance(60_000);
  await api.send(request);
  const second = api.send(request);
  // A full bucket would admit two; a halved one delays the second.
  await clock.advance(100);
  expect(server.requests).toHaveLength(2);
  await clock.advance(2_000);
  await second;
});

test("reports each sent request once by its outcome, and no request that was not sent", async () => {
  const { api, clock, outcomes } = await world(
    json({}),
    errorResponse(404, "secret_not_found"),
    reset,
    errorResponse(429, "rate_limited"),
  );
  for (let sent = 0; sent < 4; sent += 1) {
    await api.send(request).catch(() => undefined);
    await clock.advance(10_000);
    if (sent === 3) await failureOf(api.send({ ...request, signal: AbortSignal.abort() }));
  }
  expect(outcomes).toEqual(["ok", "permanent", "transient", "rate-limited", "aborted"]);
  const { api: limited, outcomes: observed } = await world(
    errorResponse(429, "rate_limited", { "retry-after": "60" }),
  );
  await failureOf(limited.send(request));
  await failureOf(limited.send(request));
  expect(observed).toEqual(["rate-limited"]);
});
