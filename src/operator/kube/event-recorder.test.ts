import { accessTo } from "../../../test/lab/kube/connected-client.ts";
import { expect, onTestFinished, test } from "vitest";
import { json, LoopbackServer, failureStatus } from "../../../test/lab/loopback-server.ts";
import { pump, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { ApiClient } from "../../../test/lab/simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../../../test/lab/simulated/api-server/in-memory-api-server.ts";
import { startEventRecorder } from "../../../test/lab/kube/event-recorder.ts";
import { KubeClient } from "./client/kube-client.ts";
import { Credentials } from "./credentials/credentials.ts";
import type { ApiEventRecorder, EventRecord } from "./event-recorder.ts";
import { EVENTS, SECRETS } from "./resource.ts";

interface Written {
  method: string;
  path: string;
  metadata: { name: string; namespace: string; resourceVersion?: string };
  note: string;
  series?: { count: number };
}

interface Scene {
  readonly clock: VirtualClock;
  readonly recorder: ApiEventRecorder;
  readonly written: Written[];
  readonly stop: () => void;
  readonly running: Promise<void>;
}

/**
 * Starts a recorder on a server that responds to the n-th write with the n-th status, and then with
 * 200.
 */
async function start(...statuses: number[]): Promise<Scene> {
  const clock = new VirtualClock();
  const written: Written[] = [];
  const server = await LoopbackServer.start(({ method, path, body }, response) => {
    const sent: object = JSON.parse(body);
    const status = statuses[written.length] ?? 200;
    written.push({ method, path, ...(sent as Omit<Written, "method" | "path">) });
    const metadata = { name: "the event", resourceVersion: `${written.length}` };
    json(response, status, status === 200 ? { metadata } : failureStatus(status, "Forbidden"));
  });
  const api = new KubeClient({
    credentials: new Credentials(accessTo(server), clock),
    clock,
    fieldManager: "vaultsync",
  });
  const { recorder, stop, running } = startEventRecorder(api, clock);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await api[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { clock, recorder, written, stop: () => stop.abort(), running };
}

const anyTime: unknown = expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/);

function event(changes: Partial<EventRecord> = {}): EventRecord {
  const about = { resource: SECRETS, namespace: "a", name: "s", uid: "u1" };
  return {
    ...about,
    type: "Normal",
    reason: "Synced",
    action: "Write",
    note: "wrote version 3",
    ...changes,
  };
}

test("the recorder writes an event that refers to its object", async () => {
  const { clock, recorder, written } = await start();
  recorder.record(event());
  await pump(clock, () => written.length === 1);
  expect(written[0]).toMatchObject({
    method: "POST",
    path: "/apis/events.k8s.io/v1/namespaces/a/events",
    apiVersion: "events.k8s.io/v1",
    metadata: { namespace: "a" },
    regarding: { apiVersion: "v1", kind: "Secret", namespace: "a", name: "s", uid: "u1" },
    type: "Normal",
    reason: "Synced",
    action: "Write",
    note: "wrote version 3",
    reportingController: "vaultsync.dev/test",
    reportingInstance: "pod-0",
  });
  expect(written[0]).not.toHaveProperty("series");
});

test("a repeated event increases the count of the first one, written at most once a minute", async () => {
  const { clock, recorder, written } = await start();
  for (let n = 0; n < 50; n += 1) recorder.record(event());
  await clock.advance(60_000);
  for (let n = 0; n < 3; n += 1) recorder.record(event());
  await pump(clock, () => written.length === 3);
  await clock.advance(300_000);
  const path = `/apis/events.k8s.io/v1/namespaces/a/events/${written[0]?.metadata.name}`;
  expect(written.slice(1)).toEqual([
    {
      method: "PATCH",
      path,
      metadata: { resourceVersion: "1" },
      series: { count: 50, lastObservedTime: anyTime },
    },
    {
      method: "PATCH",
      path,
      metadata: { resourceVersion: "2" },
      series: { count: 53, lastObservedTime: anyTime },
    },
  ]);
});

test("the same event of one object in another namespace is a separate event", async () => {
  const { recorder, written } = await start();
  for (const namespace of ["a", "b", "a", ""]) recorder.record(event({ namespace }));
  await expect.poll(() => written.length).toBe(3);
  expect(written.map(({ metadata: { namespace } }) => namespace)).toEqual(["a", "b", "default"]);
});

test.each([403, 404, 409])(
  "after a %i for the count of a series, its next repetition is a new event",
  async (status) => {
    const { clock, recorder, written } = await start(200, status);
    for (let n = 0; n < 3; n += 1) {
      recorder.record(event());
      await clock.advance(60_000);
      await pump(clock, () => written.length === n + 1);
    }
    expect(written.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(written[2]?.metadata.name).not.toBe(written[0]?.metadata.name);
  },
);

test("the recorder forgets every event after ten minutes", async () => {
  const { clock, recorder } = await start();
  for (let n = 0; n < 500; n += 1) recorder.record(event({ type: "Warning", uid: `u${n}` }));
  expect(recorder.tracked).toBe(1_000);
  await clock.advance(600_000);
  recorder.record(event({ type: "Warning", uid: "last" }));
  expect(recorder.tracked).toBe(2);
});

test("a repetition after the series interval is a new event", async () => {
  const { clock, recorder, written } = await start();
  recorder.record(event());
  await clock.advance(600_000);
  recorder.record(event());
  await pump(clock, () => written.length === 2);
  expect(written[1]?.metadata.name).not.toBe(written[0]?.metadata.name);
  expect(written[1]).not.toHaveProperty("series");
});

test("one object is limited to 25 events, then one in five minutes; others are not affected", async () => {
  const { clock, recorder, written } = await start();
  for (let n = 0; n < 100; n += 1) recorder.record(event({ type: "Warning", note: `n ${n}` }));
  recorder.record(event({ uid: "u2" }));
  await pump(clock, () => written.length === 26);
  await clock.advance(300_000);
  recorder.record(event({ note: "later" }));
  recorder.record(event({ note: "too much" }));
  recorder.record(event({ uid: "u3", note: "last" }));
  await pump(clock, () => written.at(-1)?.note === "last");
  expect(written.slice(26).map(({ note }) => note)).toEqual(["later", "last"]);
});

/** Starts a recorder on an API server in memory with so many namespaces, `n0` and so on. */
function startInMemory(namespaces: number) {
  const clock = new VirtualClock();
  const server = new InMemoryApiServer({ clock });
  for (let n = 0; n < namespaces; n += 1) server.createNamespace(`n${n}`);
  const types: unknown[] = [];
  server.onCommit(
    ({ resource, after }) => void (resource.kind === EVENTS.kind && types.push(after?.["type"])),
  );
  const { recorder, stop, running } = startEventRecorder(new ApiClient(server), clock);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { clock, recorder, types };
}

test("normal events of one reason in a namespace are limited to 25, then one per second", async () => {
  const { clock, recorder, types } = startInMemory(2);
  for (let n = 0; n < 1_000; n += 1) recorder.record(event({ namespace: "n0", uid: `u${n}` }));
  await clock.advance(0);
  expect(types).toHaveLength(25);
  recorder.record(event({ namespace: "n1", uid: "other" }));
  recorder.record(event({ namespace: "n0", uid: "other", reason: "Connected" }));
  for (let n = 0; n < 50; n += 1)
    recorder.record(event({ namespace: "n0", uid: `w${n}`, type: "Warning" }));
  await clock.advance(0);
  expect(types).toHaveLength(77);
  await clock.advance(1_000);
  for (const uid of ["next", "too early"]) recorder.record(event({ namespace: "n0", uid }));
  await clock.advance(0);
  expect(types).toHaveLength(78);
});

test("an event that its reason does not allow takes no memory for its object", async () => {
  const { recorder } = await start();
  for (let index = 0; index < 1_000; index += 1) recorder.record(event({ uid: `u${index}` }));
  // The series and the objects of the 25 that are allowed, and the reason.
  expect(recorder.tracked).toBe(51);
});

test("all objects together are limited to 250 events, then ten per second, warnings first", async () => {
  const { clock, recorder, types } = startInMemory(80);
  for (let n = 0; n < 2_000; n += 1)
    recorder.record(event({ namespace: `n${n % 80}`, uid: `u${n}` }));
  await clock.advance(0);
  expect(types).toHaveLength(250);
  for (let n = 0; n < 5; n += 1)
    recorder.record(event({ namespace: "n0", uid: `w${n}`, type: "Warning" }));
  await clock.advance(2_000);
  expect(types.length).toBe(270);
  expect(types.slice(250, 255)).toEqual(Array.from({ length: 5 }, () => "Warning"));
  // At most 500 wait: no fault keeps the recorder busy for long.
  await clock.advance(600_000);
  expect(types).toHaveLength(505);
});

test("an event that the API server rejects is dropped, and the next one is written", async () => {
  const { clock, recorder, written } = await start(403, 403);
  recorder.record(event());
  recorder.record(event({ uid: "u2" }));
  await pump(clock, () => written.length === 2);
  expect(written).toHaveLength(2);
});

test("a long name and note are truncated to the limits of an event", async () => {
  const { clock, recorder, written } = await start();
  recorder.record(event({ name: "x".repeat(253), note: "é".repeat(2_000) }));
  await pump(clock, () => written.length === 1);
  expect(written[0]?.metadata.name.length).toBeLessThanOrEqual(253);
  expect(Buffer.byteLength(written[0]?.note ?? "")).toBeLessThanOrEqual(1_024);
});

test("the recorder stops when its signal is aborted", async () => {
  const { stop, running } = await start();
  stop();
  await expect(running).resolves.toBeUndefined();
});
