import { expect, onTestFinished, test } from "vitest";
import { pump } from "../../../../test/support/clock/pump.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { connectClient, type ConnectedClient } from "../../../../test/support/kube/connected-client.ts";
import { failureStatus, json } from "../../../../test/support/kube/loopback-api-server.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { ALL_NAMESPACES, SECRETS } from "../resource.ts";
import { ReflectorGroup } from "./reflector-group.ts";

interface Scene extends ConnectedClient {
  readonly group: ReflectorGroup<string>;
  readonly changes: string[];
  readonly clock: VirtualClock;
  /** Namespaces whose list is denied. */
  readonly denied: Set<string>;
}

/** Starts a group on a server with a Secret `one` in every namespace, and no permission for any other path. */
async function start(namespaces: readonly string[], ...denied: string[]): Promise<Scene> {
  const clock = new VirtualClock();
  const deniedNow = new Set(denied);
  const pair = await connectClient(
    ({ path, query }, response) => {
      const namespace = /^\/api\/v1\/(?:namespaces\/([^/]+)\/)?secrets$/.exec(path)?.[1] ?? "";
      if (query.has("sendInitialEvents")) json(response, 422, failureStatus(422, "Invalid"));
      else if (deniedNow.has(namespace)) json(response, 403, failureStatus(403, "Forbidden"));
      else if (query.has("watch")) response.flushHeaders();
      else json(response, 200, { metadata: { resourceVersion: "5" }, items: [{ metadata: { namespace, name: "one" } }] });
    },
    { clock },
  );
  const base = { api: pair.client, resource: SECRETS, clock, random: () => 0, logger: silentLogger };
  const group = new ReflectorGroup({ ...base, namespaces, project: ({ metadata }) => metadata.name });
  const changes: string[] = [];
  group.onChange(({ type, key }) => void changes.push(`${type} ${key}`));
  const stop = new AbortController();
  const running = group.run(stop.signal);
  onTestFinished(async () => {
    stop.abort(new Error("stop"));
    await running;
    await pair[Symbol.asyncDispose]();
  });
  return { ...pair, group, changes, clock, denied: deniedNow };
}

test("the store of a group contains the objects of all its namespaces", async () => {
  const { group, changes, server } = await start(["a", "b"]);
  await group.synced;
  expect(changes.toSorted()).toEqual(["added a/one", "added b/one"]);
  const { store } = group;
  expect([store.size, store.get("a/one"), store.has("b/one"), store.get("c/one"), store.has("c/one")]).toEqual([
    2,
    "one",
    true,
    undefined,
    false,
  ]);
  expect([[...store.keys()], [...store.values()], [...store.entries()]]).toEqual([
    ["a/one", "b/one"],
    ["one", "one"],
    [
      ["a/one", "one"],
      ["b/one", "one"],
    ],
  ]);
  expect(new Set(server.requests.map(({ path }) => path))).toEqual(
    new Set(["/api/v1/namespaces/a/secrets", "/api/v1/namespaces/b/secrets"]),
  );
});

test("a group is synced when the last of its namespaces is listed", async () => {
  const { group, changes, clock, denied } = await start(["a", "b"], "b");
  let synced = false;
  let reconnects = 0;
  group.onReconnect(() => (reconnects += 1));
  void group.synced.then(() => (synced = true));
  await pump(clock, () => changes.length === 1);
  await clock.advance(60_000);
  expect([synced, group.listing, changes]).toEqual([false, true, ["added a/one"]]);
  denied.clear();
  await pump(clock, () => synced);
  await pump(clock, () => !group.listing);
  expect([changes, reconnects]).toEqual([["added a/one", "added b/one"], 1]);
});

test("the group of all namespaces lists the cluster", async () => {
  const { group, server } = await start([ALL_NAMESPACES]);
  await group.synced;
  expect([group.store.size, server.requests[0]?.path]).toEqual([1, "/api/v1/secrets"]);
});
