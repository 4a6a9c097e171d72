import { afterAll, afterEach, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { applied, onFirst, writes } from "./support/api-faults.ts";
import { Lanes } from "./support/lanes.ts";
import { isReady, secretThrough } from "../lab/real/resources.ts";
import { FaultProxy, type Exchange } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * The operator is killed in the middle of its work; each test uses the operator that was started
 * after the kill before it.
 */
let proxy: FaultProxy;
const shared = Lanes.use(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  return { accounts: 8, ...started.api };
});
afterAll(() => proxy[Symbol.asyncDispose]());

afterEach(async () => {
  await proxy.heal();
  if (shared.world.operator.exited) await shared.world.startOperator();
});

const steps = ["Secret", "VaultSecret status"] as const;
const places = ["before", "after"] as const;

test.each(steps.flatMap((step) => places.map((place) => ({ step, place }))))(
  "O1: an operator killed $place it writes the $step of an update converges after a restart",
  async ({ step, place }) => {
    const { world } = shared;
    await using lane = await world.lane(`o1-${place}-${step.toLowerCase().replace(" ", "-")}`);
    const kill = ({ reset }: Exchange): void => {
      world.operator.signal("SIGKILL");
      reset();
    };
    const selected = writes(step === "Secret" ? "secrets" : "vaultsecrets", lane.name);
    proxy.inject(onFirst(1, selected, place === "before" ? kill : applied(kill)));
    const value = await lane.protect();
    await waitUntil("the operator is killed", () => world.operator.exited);
    await proxy.heal();
    await world.startOperator();
    await lane.inSync();
    expect(lane.written).toEqual([lane.values[0], value]);
  },
);

test.each(["generate_access_token", "list_no_dup", "version_expose"] as const)(
  "O1: an operator killed in its first %s converges after a restart",
  async (operation) => {
    const { world } = shared;
    const { client, email, password } = await world.account();
    const name = `o1-${operation.replaceAll("_", "-")}`;
    const value = world.canaries.text(name);
    await client.call("protect", { key_name: name, key_value: value });
    await using vault = await FaultProxy.start({ url: world.vault.url });
    vault.inject(faults.on(operation, () => world.operator.signal("SIGKILL")));
    await world.connection(name, { url: vault.url, email, password });
    await world.create(secretThrough(name, name, { value: name }));
    await waitUntil("the operator is killed", () => world.operator.exited);
    await vault.heal();
    await world.startOperator();
    await world.history.until("VaultSecret", name, isReady);
    expect(world.history.values(name, "value")).toEqual([value]);
  },
);
