import { expect, onTestFinished, test } from "vitest";
import { pump, VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { connectClient, type ConnectedClient } from "../../../../test/lab/kube/connected-client.ts";
import { failureStatus, json } from "../../../../test/lab/loopback-server.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { ALL_NAMESPACES, SECRETS } from "../resource.ts";
import { type CollectionPart, ReflectorGroup } from "./reflector-group.ts";

interface Scene extends ConnectedClient {
  readonly group: ReflectorGroup<string>;
  readonly parts: readonly CollectionPart[];
  readonly changes: string[];
  readonly clock: VirtualClock;
  /** Namespaces whose list is denied. */
  readonly denied: Set<string>;
}

/**
 * Opens parts of a group on a server with a Secret `one` in every namespace, and no permission for
 * any other path.
 */
async function start(namespaces: readonly string[], ...denied: string[]): Promise<Scene> {
  const clock = new VirtualClock();
  const deniedNow = new Set(denied);
  const pair = await connectClient(
    ({ path, query }, response) => {
      const namespace = /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?secrets$/.exec(path)?.[1] ?? "";
      if (query.has("sendInitialEvents")) json(response, 422, failureStatus(422, "Invalid"));
      else if (deniedNow.has(namespace)) json(response, 403, failureStatus(403, "Forbidden"));
      else if (query.has("watch")) response.flushHeaders();
      else
        json(response, 200, {
          metadata: { resourceVersion: "5" },
          items: [{ metadata: { namespace, name: "one" } }],
        });
    },
    { clock },
  );
  const base = {
    api: pair.client,
    resource: SECRETS,
    clock,
    random: () => 0,
    logger: silentLogger,
  };
  const group = new ReflectorGroup({ ...base, project: ({ metadata }) => metadata.name });
  const changes: string[] = [];
  group.onChange(({ type, key }) => void changes.push(`${type} ${key}`));
  const stop = new AbortController();
  const parts = namespaces.map((namespace) => group.open(namespace));
  const running = Promise.all(parts.map((part) => part.run(stop.signal)));
  onTestFinished(async () => {
    stop.abort(new Error("stop"));
    await running;
    await pair[Symbol.asyncDispose]();
  });
  return { ...pair, group, parts, changes, clock, denied: deniedNow };
}

async function show(part: CollectionPart | undefined): Promise<void> {
  await part?.synced;
  part?.show();
  part?.report();
}

test("the store of a group contains the objects of the namespaces that are shown", async () => {
  const { group, parts, changes, server } = await start(["a", "b", "c"]);
  for (const part of parts.slice(0, 2)) await show(part);
  expect(changes).toEqual(["added a/one", "added b/one"]);
  const { store } = group;
  expect(store.size).toBe(2);
  expect(store.get("a/one")).toBe("one");
  expect(store.has("b/one")).toBe(true);
  expect(store.get("c/one")).toBeUndefined();
  expect(store.has("c/one")).toBe(false);
  expect([...store.keys()]).toEqual(["a/one", "b/one"]);
  expect([...store.values()]).toEqual(["one", "one"]);
  expect([...store.entries()]).toEqual([
    ["a/one", "one"],
    ["b/one", "one"],
  ]);
  expect(new Set(server.requests.map(({ path }) => path))).toEqual(
    new Set([
      "/api/v1/namespaces/a/secrets",
      "/api/v1/namespaces/b/secrets",
      "/api/v1/namespaces/c/secrets",
    ]),
  );
});

test("an object is stored when it is reported, and not stored when it is reported as deleted", async () => {
  const { group, parts } = await start(["a"]);
  const seen: string[] = [];
  group.onChange(({ type, key }) => void seen.push(`${type} ${group.store.get(key)}`));
  await show(parts[0]);
  parts[0]?.hide();
  expect(seen).toEqual(["added one", "deleted undefined"]);
  expect(group.store.size).toBe(0);
});

test("a handler that fails does not keep the others from a change", async () => {
  const { group, parts } = await start(["a"]);
  using _ = group.onChange(() => {
    throw new Error("handler");
  });
  const seen: string[] = [];
  group.onChange(({ key }) => void seen.push(key));
  await show(parts[0]);
  expect(seen).toEqual(["a/one"]);
});

test("a part is synced by itself, and a shown one reports its reconnects", async () => {
  const { group, parts, changes, clock, denied, server } = await start(["a", "b"], "b");
  let reconnects = 0;
  group.onReconnect(() => (reconnects += 1));
  await show(parts[0]);
  let synced = false;
  void parts[1]?.synced.then(() => (synced = true));
  await clock.advance(60_000);
  expect(synced).toBe(false);
  expect(changes).toEqual(["added a/one"]);
  denied.clear();
  await pump(clock, () => synced);
  await show(parts[1]);
  expect(changes).toEqual(["added a/one", "added b/one"]);
  expect(reconnects).toBe(0);
  const before = server.requests.length;
  denied.add("b");
  server.cut();
  await pump(clock, () => server.requests.length > before + 2);
  denied.clear();
  await pump(clock, () => reconnects > 0);
  expect(changes).toHaveLength(2);
});

test("the group of all namespaces lists the cluster", async () => {
  const { group, parts, server } = await start([ALL_NAMESPACES]);
  await show(parts[0]);
  expect(group.store.size).toBe(1);
  expect(server.requests[0]?.path).toBe("/api/v1/secrets");
});
