import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { silence } from "./support/faults.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { onFirst, writes } from "./support/api-faults.ts";
import { Lanes, type LanesOptions } from "./support/lanes.ts";
import { reports, secretThrough } from "../lab/real/resources.ts";
import { ProcessFaults } from "./support/process-faults.ts";

/**
 * The operator's process is stopped or stalled, or its clock jumps. Each test has a separate
 * operator.
 */
const worldWith = (options: LanesOptions = {}): Promise<Lanes> =>
  Lanes.create({ accounts: 4, ...options });

test("O3: SIGTERM while a write is in progress ends with exit code 0 after the write", async () => {
  const { proxy: opened, api } = await startApiProxy();
  await using proxy = opened;
  await using world = await worldWith(api);
  await world.startOperator();
  await using lane = await world.lane("o3-sigterm");
  const started = Promise.withResolvers<void>();
  proxy.inject(
    onFirst(1, writes("secrets", lane.name), async ({ relay }) => {
      started.resolve();
      await sleep(1_000);
      await relay();
    }),
  );
  const value = await lane.protect();
  await started.promise;
  expect(await world.operator.stop("SIGTERM")).toBe(0);
  expect(lane.written.at(-1)).toBe(value);
});

test("O3: a second signal ends the process during a write, and a restart converges", async () => {
  const { proxy: opened, api } = await startApiProxy();
  await using proxy = opened;
  await using world = await worldWith(api);
  const operator = await world.startOperator();
  await using lane = await world.lane("o3-twice");
  const started = Promise.withResolvers<void>();
  proxy.inject(onFirst(1, writes("secrets", lane.name), () => started.resolve()));
  const value = await lane.protect();
  await started.promise;
  operator.signal("SIGTERM");
  // Another signal than the first, with which the system would merge an equal one.
  expect(await operator.stop("SIGINT")).toBe(1);
  await proxy.heal();
  await world.startOperator();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
});

test("O3: SIGTERM before the caches are synced ends with exit code 0", async () => {
  const { proxy: opened, api } = await startApiProxy();
  await using proxy = opened;
  await using world = await worldWith(api);
  proxy.inject(silence);
  await using operator = OperatorProcess.launch(world.kubeconfig, [
    "--namespaces",
    world.namespace,
  ]);
  await waitUntil("the operator lists", () => proxy.requests.length > 0, 100_000);
  expect(await operator.stop("SIGTERM")).toBe(0);
  expect(operator.log).not.toContain("caches synced");
});

test("V14: steps of the wall clock by an hour cause no login, no refresh and no stale resource", async () => {
  using machine = new ProcessFaults();
  await using world = await worldWith({ process: machine.options });
  await world.startOperator();
  await using lane = await world.lane("v14-clock");
  for (const clockOffsetMs of [-3_600_000, 600_000, 0]) {
    machine.set({ clockOffsetMs });
    world.operator.signal("SIGUSR2");
    await lane.protect();
    await lane.inSync();
  }
  expect(lane.written).toEqual(lane.values);
  const counted = (["generate_access_token", "refresh_token"] as const).map(
    (one) => lane.proxy.to(operationPath[one]).length,
  );
  expect(counted).toEqual([1, 0]);
  const all = world.history
    .versions("VaultSecret", lane.name)
    .flatMap(({ status }) => status?.conditions ?? []);
  expect(all.filter(({ type }) => type === "Stale")).toEqual([]);
});

test("O4: the liveness probe fails while the event loop is blocked, and work continues", async () => {
  using machine = new ProcessFaults();
  await using world = await worldWith({ process: machine.options });
  await world.startOperator();
  await using lane = await world.lane("o4-stall");
  machine.set({ stallMs: 5_000 });
  world.operator.signal("SIGUSR2");
  const probe = (): Promise<unknown> =>
    fetch(`http://127.0.0.1:${world.operator.port}/healthz`, {
      signal: AbortSignal.timeout(1_000),
    });
  await waitUntil("the probe fails", () =>
    probe().then(
      () => false,
      (error: unknown) => String(error).includes("aborted"),
    ),
  );
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
});

test("O4: an unhandled rejection ends the process with an error, and a restart converges", async () => {
  using machine = new ProcessFaults();
  await using world = await worldWith({ process: machine.options });
  const operator = await world.startOperator();
  await using lane = await world.lane("o4-rejection");
  machine.set({ unhandledRejection: true });
  operator.signal("SIGUSR2");
  const { code } = await operator.result;
  expect(code).toBeGreaterThan(0);
  machine.set({});
  const value = await lane.protect();
  await world.startOperator();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
});

test("O6: of two resources with one target exactly one writes it", async () => {
  await using world = await worldWith();
  await world.startOperator();
  await using lane = await world.lane("o6-first");
  const { name } = lane;
  await world.create(secretThrough(name, "o6-second", { other: name }, { name }));
  await world.history.until("VaultSecret", "o6-second", (one) => reports(one, "TargetConflict"));
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(world.history.versions("Secret", lane.name).filter(({ data }) => "other" in data)).toEqual(
    [],
  );
});

test("O5: a resource that is edited 40 times ends with its last edit, and others are not delayed", async () => {
  await using world = await worldWith();
  await world.startOperator();
  await using lane = await world.lane("o5-quiet");
  await using busy = await world.lane("o5-busy");
  const edits = (async () => {
    for (let edit = 0; edit < 40; edit += 1) {
      const data = [
        { secretKey: "value", remoteRef: { key: busy.name } },
        { secretKey: `edit-${edit}`, remoteRef: { key: busy.name } },
      ];
      await world.patch("VaultSecret", busy.name, { spec: { data } });
    }
  })();
  const value = await lane.protect();
  await lane.inSync();
  await edits;
  await busy.until("Secret", ({ data }) => "edit-39" in data && Object.keys(data).length === 2);
  expect(lane.written).toEqual([lane.values[0], value]);
});
