import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { lines, lists, onFirst, onRequests, status, watches } from "./support/api-faults.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { Lanes, type Lane } from "./support/lanes.ts";
import type { FaultProxy } from "../lab/real/fault-proxy.ts";

/**
 * The operator's watches of a real API server break in every way. The operator finds what happened
 * during the break, with as few lists as possible.
 */
let proxy: FaultProxy;
afterAll(() => proxy[Symbol.asyncDispose]());
const shared = Lanes.use(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  // At this level each failed watch is logged.
  return { ...started.api, args: ["--log-level", "debug"] };
});

beforeEach(() => proxy.heal());

const count = (selector: ReturnType<typeof lists>): number =>
  proxy.requests.filter(selector).length;
const watchOfTargets = watches("secrets");

/**
 * Returns the number of lists of Secrets once there are no further ones: a watch may still recover
 * from an earlier test.
 */
async function settledLists(): Promise<number> {
  let before = -1;
  await waitUntil("no further list", async () => {
    const last = before;
    before = count(lists("secrets"));
    if (last !== before) await sleep(2_000);
    return last === before;
  });
  return before;
}

/**
 * Deletes the Secret of a lane behind the operator's back, and waits until the operator has created
 * it again.
 */
async function expectRecreated(lane: Lane, meanwhile: () => Promise<void> | void): Promise<void> {
  const { world } = shared;
  const before = world.history.latest("Secret", lane.name);
  await world.delete("Secret", lane.name);
  await meanwhile();
  await lane.until("Secret", ({ metadata }) => metadata.uid !== before?.metadata.uid);
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], "deleted", lane.values[0]]);
}

test("K1: a change while the API server is unreachable is found without another list", async () => {
  await using lane = await shared.world.lane("k1-unreachable");
  const listed = count(lists("secrets"));
  await proxy.refuse();
  await expectRecreated(lane, async () => {
    await waitUntil("the operator has noticed", () =>
      shared.world.operator.log.includes("ECONNREFUSED"),
    );
    await proxy.heal();
  });
  expect(count(lists("secrets"))).toBe(listed);
});

test("K1: rolling to another API server and back loses no change, with few lists", async () => {
  const { plane } = shared.world;
  const { server: url, ca } = plane.access;
  await using lane = await shared.world.lane("k1-rolling");
  await using second = await plane.startSecondApiServer();
  const listed = count(lists("secrets"));
  await expectRecreated(lane, () => proxy.useUpstream({ url: second.server, ca }));
  // Each of the two watches of Secrets lists again if the new API server does not know the events
  // before its start.
  expect(count(lists("secrets"))).toBeLessThanOrEqual(listed + 2);
  proxy.useUpstream({ url, ca });
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], "deleted", lane.values[0], value]);
  expect(count(lists("secrets"))).toBeLessThanOrEqual(listed + 4);
});

test("K2: a dropped watch resumes without another list", async () => {
  await using lane = await shared.world.lane("k2-dropped");
  const listed = await settledLists();
  await expectRecreated(lane, () => void proxy.reset());
  expect(count(lists("secrets"))).toBe(listed);
});

test("K2: events that arrive twice cause no write", async () => {
  await using lane = await shared.world.lane("k2-twice");
  proxy.inject(
    onRequests(
      ({ path }) => path.includes("watch="),
      lines((line) => [line, line]),
    ),
  );
  const first = lane.values[0];
  const second = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([first, second]);
  expect(shared.world.history.versions("Secret", lane.name).length).toBe(2);
});

test.each([
  ["a garbage line", '{"type":"MODIFIED","object":{"kind":'],
  ["a line of another type", '{"type":"SOMETHING","object":{}}'],
  ["an object without metadata", '{"type":"MODIFIED","object":{"kind":"Secret"}}'],
  ["an HTML page", "<html>Bad Gateway</html>"],
])("K2: %s in a watch loses no event", async (what, garbage) => {
  await using lane = await shared.world.lane(`k2-${what.toLowerCase().replaceAll(" ", "-")}`);
  let injected = 0;
  // The line replaces the event of the deletion.
  const replace = (line: string): string[] =>
    line.includes('"DELETED"') && injected++ === 0 ? [garbage] : [line];
  proxy.inject(onRequests(watchOfTargets, lines(replace)));
  await waitUntil("the watch passes the fault", () => count(watchOfTargets) > 0);
  await expectRecreated(lane, () => undefined);
  expect(injected).toBeGreaterThan(0);
});

const expired = {
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  reason: "Expired",
  message: "too old resource version",
  code: 410,
};

test.each([
  ["as the status of the watch", status(410, "Expired", "too old resource version")],
  [
    "inside of the watch",
    ({ response }: { response: { end(text: string): unknown } }) =>
      response.end(`${JSON.stringify({ type: "ERROR", object: expired })}\n`),
  ],
])("K3: 410 Gone %s leads to a list that finds a deletion", async (what, gone) => {
  await using lane = await shared.world.lane(`k3-${what.replaceAll(" ", "-")}`);
  const listed = await settledLists();
  await proxy.refuse();
  await expectRecreated(lane, async () => {
    // Targets and credentials have a watch each.
    proxy.inject(onFirst(2, watchOfTargets, gone));
    await proxy.listen();
  });
  await expect.poll(() => count(lists("secrets")), { timeout: 60_000 }).toBeGreaterThan(listed);
});

test("O7: events of the time in which the process was stopped and disconnected are found", async () => {
  const { world } = shared;
  await using lane = await world.lane("o7-stopped");
  expect(world.operator.exited).toBe(false);
  world.operator.signal("SIGSTOP");
  await expectRecreated(lane, () => {
    proxy.reset();
    world.operator.signal("SIGCONT");
  });
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
