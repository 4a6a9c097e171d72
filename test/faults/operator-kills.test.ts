import { afterAll, afterEach, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { applied, onFirst, writes } from "./support/api-faults.ts";
import { Farm, isReady } from "./support/farm.ts";
import { FaultProxy, type Exchange } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * The operator is killed in the middle of its work; each test uses the operator that was started
 * after the kill before it.
 */
let proxy: FaultProxy;
const world = Farm.use(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  return { accounts: 8, api: started.api };
});
afterAll(() => proxy[Symbol.asyncDispose]());

afterEach(async () => {
  await proxy.heal();
  if (world.farm.operator.exited) await world.farm.startOperator();
});

const steps = ["Secret", "VaultSecret status"] as const;
const places = ["before", "after"] as const;

test.each(steps.flatMap((step) => places.map((place) => ({ step, place }))))(
  "O1: an operator killed $place it writes the $step of an update converges after a restart",
  async ({ step, place }) => {
    const { farm } = world;
    await using lane = await farm.lane(`o1-${place}-${step.toLowerCase().replace(" ", "-")}`);
    const kill = ({ reset }: Exchange): void => {
      farm.operator.signal("SIGKILL");
      reset();
    };
    const selected = writes(step === "Secret" ? "secrets" : "vaultsecrets", lane.name);
    proxy.inject(onFirst(1, selected, place === "before" ? kill : applied(kill)));
    const value = await lane.protect();
    await waitUntil("the operator is killed", () => farm.operator.exited);
    await proxy.heal();
    await farm.startOperator();
    await lane.inSync();
    expect(lane.written).toEqual([lane.values[0], value]);
  },
);

test.each(["generate_access_token", "list_no_dup", "version_expose"] as const)(
  "O1: an operator killed in its first %s converges after a restart",
  async (operation) => {
    const { farm } = world;
    const { client, email, password } = await farm.account();
    const name = `o1-${operation.replaceAll("_", "-")}`;
    const value = farm.canaries.text(name);
    await client.call("protect", { key_name: name, key_value: value });
    await using vault = await FaultProxy.start({ url: farm.vault.url });
    vault.inject(faults.on(operation, () => farm.operator.signal("SIGKILL")));
    await farm.connection(name, { url: vault.url, email, password });
    await farm.create({
      kind: "VaultSecret",
      apiVersion: "vaultsync.dev/v1alpha1",
      metadata: { name },
      spec: { connectionRef: { name }, data: [{ secretKey: "value", remoteRef: { key: name } }] },
    });
    await waitUntil("the operator is killed", () => farm.operator.exited);
    await vault.heal();
    await farm.startOperator();
    await farm.history.until("VaultSecret", name, isReady);
    expect(farm.history.values(name, "value")).toEqual([value]);
  },
);
