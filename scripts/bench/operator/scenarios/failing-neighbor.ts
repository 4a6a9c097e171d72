import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { FaultProxy, type Fault } from "../../../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import { workOf } from "../stage.ts";
import {
  changeAll,
  emailOf,
  type Load,
  namesOf,
  type NeighborScenario,
  openStage,
} from "./neighbor-scenario.ts";

const NEIGHBOR = "failing";
const FAILING_SHARE = 0.09;
const reads: ReadonlySet<string> = new Set([operationPath.version_expose, operationPath.expose]);

/** A connection with many secrets: 9 % of them have changed and cannot be read. */
export async function openFailing(count: number): Promise<NeighborScenario> {
  const { stage, healthy, owned } = await openStage([NEIGHBOR]);
  const unreadable = new Set<string>();
  const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
  const fault: Fault = ({ request, response, relay }) => {
    const name = reads.has(request.path)
      ? (JSON.parse(request.body.toString()) as { key_name?: string }).key_name
      : undefined;
    return name !== undefined && unreadable.has(name) ? response.writeHead(500).end("{}") : relay();
  };
  proxy.inject(fault);
  const namespace = await stage.plane.createNamespace(NEIGHBOR);
  const client = await stage.client(emailOf(NEIGHBOR));
  const names = namesOf(NEIGHBOR, count);
  await stage.fill(client, names);
  await stage.connections(
    namespace,
    new Map([[NEIGHBOR, { email: emailOf(NEIGHBOR), url: proxy.url }]]),
  );
  await stage.secrets(namespace, NEIGHBOR, names);
  await syncOnce();
  const failing = names.slice(0, Math.round(count * FAILING_SHARE));
  const start = async (): Promise<Load> => {
    for (const name of failing) unreadable.add(name);
    await changeAll(client, failing);
    await sleep(3_000);
    return { [Symbol.asyncDispose]: async () => unreadable.clear() };
  };
  const namespaces = [healthy.namespace, namespace];
  const arms = [
    { label: "without the large connection", namespaces: [healthy.namespace] },
    { label: `next to ${count} readable secrets`, namespaces },
    { label: `next to ${count} secrets of which ${failing.length} fail`, namespaces, start },
  ];
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => owned.disposeAsync() };

  async function syncOnce(): Promise<void> {
    await using operator = await stage.operator([namespace]);
    const isQuiet = async (): Promise<boolean> => (await workOf(operator, count)).isQuiet;
    await waitUntil("the large connection is in sync", isQuiet, 900_000, 1_000);
    stage.progress.note(`${count} resources of the neighbor are in sync`);
  }
}
