import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { FaultProxy } from "../../../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import {
  changeAll,
  emailOf,
  type Load,
  namesOf,
  type NeighborScenario,
  openStage,
} from "./neighbor-scenario.ts";

const SLOW_MS = 30_000;
/**
 * Number of slow connections: alone, and as many as would need all workers if each of their reads
 * occupied one.
 */
const [ONE, SEVERAL] = [1, 6];
const RESOURCES = 300;

/** Connections of a vault that takes 30 s for each response, and whose secrets all have changed. */
export async function openSlow(): Promise<NeighborScenario> {
  const names = namesOf("slow", SEVERAL);
  const { stage, healthy, owned } = await openStage(names);
  const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
  const neighbors: { readonly namespace: string; readonly change: () => Promise<void> }[] = [];
  for (const name of names) {
    const namespace = await stage.plane.createNamespace(name);
    const client = await stage.client(emailOf(name));
    const secrets = namesOf(name, RESOURCES);
    await stage.fill(client, secrets);
    await stage.connections(
      namespace,
      new Map([[name, { email: emailOf(name), url: proxy.url, timeout: "60s" }]]),
    );
    await stage.secrets(namespace, name, secrets);
    neighbors.push({ namespace, change: () => changeAll(client, secrets) });
  }
  const start = async (count: number): Promise<Load> => {
    const before = proxy.to(operationPath.version_expose).length;
    proxy.inject(async ({ relay }) => {
      await sleep(SLOW_MS);
      await relay();
    });
    await Promise.all(neighbors.slice(0, count).map(({ change }) => change()));
    const isRead = (): boolean => proxy.to(operationPath.version_expose).length >= before + count;
    await waitUntil("the slow vaults are read", isRead, 180_000);
    return { [Symbol.asyncDispose]: () => proxy.heal() };
  };
  const armOf = (label: string, count: number) => ({
    label,
    namespaces: [healthy.namespace, ...neighbors.slice(0, count).map(({ namespace }) => namespace)],
    start: () => start(count),
  });
  const arms = [
    { label: "without slow connections", namespaces: [healthy.namespace] },
    armOf("next to a slow connection", ONE),
    armOf(`next to ${SEVERAL} slow connections`, SEVERAL),
  ];
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
