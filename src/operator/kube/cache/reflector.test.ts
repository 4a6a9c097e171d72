import { expect, test } from "vitest";
import { failureStatus, json } from "../../../../test/lab/loopback-server.ts";
import {
  ReflectorScene,
  versionOf,
  type OpenWatch,
} from "../../../../test/lab/kube/reflector-scene.ts";
import { pump } from "../../../../test/lab/clock/virtual-clock.ts";

const CANARY = "canary-77e2a90cd13f5b48";

function object(name: string, resourceVersion: string, uid = `uid-${name}`): object {
  return { metadata: { namespace: "a", name, uid, resourceVersion } };
}

function event(type: string, of: object): string {
  return `${JSON.stringify({ type, object: of })}\n`;
}

test("the reflector lists, becomes synced, then follows the watch", async () => {
  const scene = await ReflectorScene.start([object("one", "1"), object("two", "2")]);
  const watch = await scene.nextWatch();
  await scene.reflector.synced;
  expect(watch.from).toBe("100");
  watch.response.write(event("ADDED", object("three", "101")));
  watch.response.write(event("MODIFIED", object("one", "102")));
  watch.response.write(event("DELETED", object("two", "103")));
  await scene.until(() => scene.changes.length === 5);
  expect(scene.changes).toEqual([
    "added a/one",
    "added a/two",
    "added a/three",
    "updated a/one",
    "deleted a/two",
  ]);
  expect([...scene.reflector.store.entries()]).toEqual([
    ["a/one", "102"],
    ["a/three", "101"],
  ]);
  expect(scene.reflector.state).toEqual({ name: "Watching", resourceVersion: "103" });
});

test("a duplicate event is one change", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  for (let n = 0; n < 2; n += 1) watch.response.write(event("MODIFIED", object("one", "101")));
  watch.response.write(event("ADDED", object("last", "102")));
  await scene.until(() => scene.changes.includes("added a/last"));
  expect(scene.changes).toEqual(["added a/one", "updated a/one", "added a/last"]);
});

test("the reflector reports a new object under an old name as a deletion and an addition", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  watch.response.write(event("MODIFIED", object("one", "101", "another")));
  await scene.until(() => scene.changes.length === 3);
  expect(scene.changes.slice(1)).toEqual(["deleted a/one", "added a/one"]);
});

test("after a disconnect the reflector resumes from the last event without listing again", async () => {
  const scene = await ReflectorScene.start([]);
  const first = await scene.nextWatch();
  first.response.write(event("ADDED", object("one", "101")));
  await scene.until(() => scene.changes.length === 1);
  first.socket.resetAndDestroy();
  expect((await scene.nextWatch()).from).toBe("101");
  expect(scene.lists).toHaveLength(1);
});

test("an event that the server lost is found by the next periodic list", async () => {
  const scene = await ReflectorScene.start(
    [object("one", "1"), object("two", "2")],
    versionOf,
    60_000,
  );
  const watch = await scene.nextWatch();
  // The random number 0 makes the interval 10 % shorter.
  expect(watch.timeoutSeconds).toBe(54);
  scene.items = [object("one", "101")];
  await scene.clock.advance(54_000);
  watch.response.end();
  const next = await scene.nextWatch();
  expect(scene.changes.slice(2)).toEqual(["deleted a/two", "updated a/one"]);
  expect(scene.lists).toHaveLength(2);
  // A drop before the next list is due causes none.
  next.socket.resetAndDestroy();
  await scene.nextWatch();
  expect(scene.lists).toHaveLength(2);
});

test("after a disconnect the reflector resumes from the last bookmark", async () => {
  const scene = await ReflectorScene.start([]);
  const first = await scene.nextWatch();
  first.response.write(event("BOOKMARK", { metadata: { resourceVersion: "150" } }));
  await scene.until(() => JSON.stringify(scene.reflector.state).includes("150"));
  first.response.end();
  expect((await scene.nextWatch()).from).toBe("150");
});

test("after a truncated line the reflector receives the event again from the last version", async () => {
  const scene = await ReflectorScene.start([]);
  const first = await scene.nextWatch();
  first.response.write(event("ADDED", object("one", "101")));
  first.response.end(event("ADDED", object("two", "102")).slice(0, 30));
  const second = await scene.nextWatch();
  expect(second.from).toBe("101");
  second.response.write(event("ADDED", object("two", "102")));
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes).toEqual(["added a/one", "added a/two"]);
});

test.each(["<html>\n", '{"type":"ADDED","object":{}}\n', '{"type":"ADDED"}\n'])(
  "after the unreadable line %j the reflector lists again and reports differences",
  async (line) => {
    const scene = await ReflectorScene.start([object("gone", "1")]);
    const first = await scene.nextWatch();
    scene.items = [object("new", "131")];
    scene.listVersion = "140";
    first.response.write(line);
    expect((await scene.nextWatch()).from).toBe("140");
    expect(scene.changes.slice(1)).toEqual(["deleted a/gone", "added a/new"]);
  },
);

test("the reflector reports a reconnect once, as soon as a watch or list succeeds after failures", async () => {
  const scene = await ReflectorScene.start([]);
  let reconnects = 0;
  scene.reflector.onReconnect(() => (reconnects += 1));
  const first = await scene.nextWatch();
  expect(reconnects).toBe(0);
  first.socket.resetAndDestroy();
  const second = await scene.nextWatch();
  await scene.until(() => reconnects === 1);
  scene.items = null;
  second.response.write("<html>\n");
  await scene.until(() => scene.lists.length === 3);
  expect(reconnects).toBe(1);
  scene.items = [];
  await scene.nextWatch();
  expect(reconnects).toBe(2);
});

test.each<[string, (scene: ReflectorScene, watch: OpenWatch) => void]>([
  [
    "inside the stream",
    (_, watch) => void watch.response.end(event("ERROR", failureStatus(410, "Expired"))),
  ],
  [
    "in response to a watch",
    (scene, watch) => {
      scene.failWatch = (response) => {
        scene.failWatch = undefined;
        json(response, 410, failureStatus(410, "Expired"));
      };
      watch.response.end();
    },
  ],
])(
  "after a 410 %s the reflector lists again and reports differences and deletions",
  async (_, expire) => {
    const scene = await ReflectorScene.start([
      object("same", "1"),
      object("gone", "2"),
      object("changed", "3"),
    ]);
    const watch = await scene.nextWatch();
    scene.items = [object("same", "1"), object("changed", "130"), object("new", "131")];
    scene.listVersion = "140";
    expire(scene, watch);
    expect((await scene.nextWatch()).from).toBe("140");
    expect(scene.lists).toHaveLength(2);
    expect(scene.changes.slice(3)).toEqual(["deleted a/gone", "updated a/changed", "added a/new"]);
  },
);

test("a failing list is retried with growing delays, and the store stays unchanged", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  const watch = await scene.nextWatch();
  scene.items = null;
  watch.response.end(event("ERROR", failureStatus(410, "Expired")));
  await scene.until(() => scene.lists.length === 6);
  expect(scene.reflector.store.get("a/one")).toBe("1");
  expect(scene.changes).toEqual(["added a/one"]);
  const waits = scene.lists.slice(2).map((at, n) => at - scene.lists[n + 1]!);
  // Without jitter the delays are 1.6, 3.2, 6.4 and 12.8 s after the 0.8 s of the 410, plus steps
  // of the test's clock.
  expect(waits.map((ms) => Math.floor(ms / 1_000))).toEqual([1, 3, 6, 12]);
  scene.items = [];
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes[1]).toBe("deleted a/one");
});

test("the reflector waits for the Retry-After of the server", async () => {
  const scene = await ReflectorScene.start([]);
  const watch = await scene.nextWatch();
  scene.failWatch = (response) => {
    scene.failWatch = undefined;
    json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "20" });
  };
  watch.response.end();
  await scene.until(() => scene.failWatch === undefined);
  const before = scene.clock.monotonic();
  await scene.nextWatch();
  expect(scene.clock.monotonic() - before).toBeGreaterThanOrEqual(20_000 - 200);
});

test("an event resets the backoff", async () => {
  const scene = await ReflectorScene.start([]);
  for (let n = 0; n < 4; n += 1) (await scene.nextWatch()).socket.resetAndDestroy();
  const steady = await scene.nextWatch();
  steady.response.write(event("ADDED", object("one", "101")));
  await scene.until(() => scene.changes.length === 1);
  const before = scene.clock.monotonic();
  steady.socket.resetAndDestroy();
  await scene.nextWatch();
  expect(scene.clock.monotonic() - before).toBeLessThan(2_000);
});

test("watches that end immediately are retried with backoff", async () => {
  const scene = await ReflectorScene.start([]);
  await scene.nextWatch();
  let failed = 0;
  scene.failWatch = (response) => {
    failed += 1;
    response.end();
  };
  scene.watches[0]?.response.end();
  await scene.until(() => failed === 1);
  await scene.clock.advance(0);
  const begun = scene.clock.monotonic();
  await scene.until(() => failed === 4);
  expect(scene.clock.monotonic() - begun).toBeGreaterThanOrEqual(800 + 1_600 + 3_200 - 300);
});

test("a watch that is silent beyond its timeout is restarted", async () => {
  const scene = await ReflectorScene.start([]);
  const first = await scene.nextWatch();
  expect(first.timeoutSeconds).toBe(300);
  const begun = scene.clock.monotonic();
  const second = pump(scene.clock, () => scene.watches.length === 2, 1_000);
  await second;
  expect(scene.clock.monotonic() - begun).toBeGreaterThanOrEqual(304_000);
  expect(scene.clock.monotonic() - begun).toBeLessThan(315_000);
});

test("a watch that has sent bookmarks is restarted after a shorter silence", async () => {
  const scene = await ReflectorScene.start([]);
  const first = await scene.nextWatch();
  first.response.write(event("BOOKMARK", { metadata: { resourceVersion: "150" } }));
  await scene.until(() => JSON.stringify(scene.reflector.state).includes("150"));
  const begun = scene.clock.monotonic();
  await pump(scene.clock, () => scene.watches.length === 2, 1_000);
  expect(scene.clock.monotonic() - begun).toBeLessThan(190_000);
  expect(scene.watches[1]?.from).toBe("150");
});

test("a throwing handler stops nothing else, and its message is not logged", async () => {
  const scene = await ReflectorScene.start([object("one", "1")]);
  scene.reflector.onChange(() => {
    throw new Error(CANARY);
  });
  const later: string[] = [];
  scene.reflector.onChange(({ key }) => void later.push(key));
  const watch = await scene.nextWatch();
  watch.response.write(event("ADDED", object("two", "101")));
  await scene.until(() => later.length === 2);
  expect(scene.logged.join()).toContain("change handler failed");
  expect(scene.logged.join()).not.toContain(CANARY);
});

test("an object whose projection fails keeps its stored value; others are updated", async () => {
  const scene = await ReflectorScene.start([object("one", "1")], (seen) => {
    if (versionOf(seen) === "101") throw new Error(CANARY);
    return versionOf(seen);
  });
  const watch = await scene.nextWatch();
  watch.response.write(event("MODIFIED", object("one", "101")));
  watch.response.write(event("ADDED", object("two", "102")));
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes).toEqual(["added a/one", "added a/two"]);
  expect(scene.reflector.store.get("a/one")).toBe("1");
  expect(scene.logged.join()).not.toContain(CANARY);
});

test("a reflector stopped while watching ends and leaves no timer", async () => {
  const scene = await ReflectorScene.start([]);
  await scene.nextWatch();
  scene.stop();
  await scene.running;
  expect(scene.clock.pending).toBe(0);
});

test("synced rejects when the reflector is stopped before the first list", async () => {
  const scene = await ReflectorScene.start(null);
  await scene.until(() => scene.lists.length > 1);
  scene.stop();
  await expect(scene.reflector.synced).rejects.toThrow("stop");
});

function stored(name: string, resourceVersion: string): object {
  return { metadata: { namespace: "a", name, uid: `uid-${name}`, resourceVersion } };
}

test("when the API server no longer serves the resource, all objects are reported as deleted", async () => {
  const scene = await ReflectorScene.start([stored("one", "1")]);
  const watch = await scene.nextWatch();
  scene.failWatch = (response) =>
    void response.writeHead(404, { "audit-id": "1" }).end("404 page not found\n");
  watch.response.end();
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes[1]).toBe("deleted a/one");
});

test("when the namespace does not exist any more, all objects are reported as deleted", async () => {
  const scene = await ReflectorScene.start([stored("one", "1")]);
  const watch = await scene.nextWatch();
  scene.failWatch = (response) => json(response, 404, failureStatus(404, "NotFound"));
  watch.response.end();
  await scene.until(() => scene.changes.length === 2);
  expect(scene.changes[1]).toBe("deleted a/one");
});

test("a watch that is denied leaves the store unchanged, and resumes", async () => {
  const scene = await ReflectorScene.start([stored("one", "1")]);
  const watch = await scene.nextWatch();
  let denied = 0;
  scene.failWatch = (response) => {
    denied += 1;
    json(response, 403, failureStatus(403, "Forbidden"));
  };
  watch.response.end();
  await scene.until(() => denied > 2);
  scene.failWatch = undefined;
  const next = await scene.nextWatch();
  expect(next.from).toBe("100");
  expect(scene.changes).toEqual(["added a/one"]);
  expect(scene.lists.length).toBe(1);
});

test("a 404 of a proxy leaves the store unchanged", async () => {
  const scene = await ReflectorScene.start([stored("one", "1")]);
  const watch = await scene.nextWatch();
  let failed = 0;
  scene.failWatch = (response) => {
    failed += 1;
    response.writeHead(404).end("404 page not found\n");
  };
  scene.items = null;
  watch.response.end();
  await scene.until(() => failed > 0 && scene.lists.length > 2);
  expect(scene.changes).toEqual(["added a/one"]);
});
