import { setTimeout as sleep } from "node:timers/promises";
import { type Stage, workOf } from "../stage.ts";
import { type Load, type Neighbor, populate, changeAll, namesOf } from "./neighbor-scenario.ts";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { FaultProxy, type Fault } from "../../../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";

const SLOW_MS = 30_000;
/**
 * Number of slow connections: alone, and as many as would need all workers if each of their reads
 * occupied one.
 */
const [ONE, SEVERAL] = [1, 6];
const SLOW_RESOURCES = 300;

const slowAccounts = namesOf("slow", SEVERAL);

/** Connections of a vault that takes 30 s for each response, and whose secrets all have changed. */
export const slow: Neighbor = {
  accounts: slowAccounts,
  open: async (stage, healthy, owned) => {
    const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
    const neighbors: { readonly namespace: string; readonly change: () => Promise<void> }[] = [];
    for (const account of slowAccounts) {
      const namespace = await stage.plane.createNamespace(account);
      const spec = { url: proxy.url, timeout: "60s" };
      const { client, names } = await populate(stage, namespace, account, SLOW_RESOURCES, spec);
      neighbors.push({ namespace, change: () => changeAll(client, names) });
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
    const next = neighbors.map(({ namespace }) => namespace);
    const armOf = (label: string, count: number) => ({
      label,
      namespaces: [healthy.namespace, ...next.slice(0, count)],
      start: () => start(count),
    });
    return [
      { label: "without slow connections", namespaces: [healthy.namespace] },
      armOf("next to a slow connection", ONE),
      armOf(`next to ${SEVERAL} slow connections`, SEVERAL),
    ];
  },
};

const FAILING = "failing";
const FAILING_SHARE = 0.09;
const reads: ReadonlySet<string> = new Set([operationPath.version_expose, operationPath.expose]);

/** A connection with many secrets: 9 % of them have changed and cannot be read. */
export const failing = (count: number): Neighbor => ({
  accounts: [FAILING],
  open: async (stage, healthy, owned) => {
    const unreadable = new Set<string>();
    const proxy = owned.use(await FaultProxy.start({ url: stage.vault.url }));
    const fault: Fault = ({ request, response, relay }) => {
      const name = reads.has(request.path)
        ? (JSON.parse(request.body.toString()) as { key_name?: string }).key_name
        : undefined;
      return name !== undefined && unreadable.has(name)
        ? response.writeHead(500).end("{}")
        : relay();
    };
    proxy.inject(fault);
    const namespace = await stage.plane.createNamespace(FAILING);
    const { client, names } = await populate(stage, namespace, FAILING, count, { url: proxy.url });
    await syncOnce(stage, namespace, count);
    const changed = names.slice(0, Math.round(count * FAILING_SHARE));
    const start = async (): Promise<Load> => {
      for (const name of changed) unreadable.add(name);
      await changeAll(client, changed);
      await sleep(3_000);
      return { [Symbol.asyncDispose]: async () => unreadable.clear() };
    };
    const namespaces = [healthy.namespace, namespace];
    return [
      { label: "without the large connection", namespaces: [healthy.namespace] },
      { label: `next to ${count} readable secrets`, namespaces },
      { label: `next to ${count} secrets of which ${changed.length} fail`, namespaces, start },
    ];
  },
});

async function syncOnce(stage: Stage, namespace: string, count: number): Promise<void> {
  await using operator = await stage.operator([namespace]);
  const isQuiet = async (): Promise<boolean> => (await workOf(operator, count)).isQuiet;
  await waitUntil("the large connection is in sync", isQuiet, 900_000, 1_000);
  stage.progress.note(`${count} resources of the neighbor are in sync`);
}

const HOT = "hot";
const HOT_RESOURCES = 100;
/**
 * All resources together: each edit takes the API server and the benchmark several times as much
 * CPU time as the operator.
 */
const EDITS_PER_SECOND = 100;

/** Resources whose specs are edited all the time: a hundred in turn, or always the same one. */
export const hot: Neighbor = {
  accounts: [HOT],
  open: async (stage, healthy) => {
    const namespace = await stage.plane.createNamespace(HOT);
    const { names } = await populate(stage, namespace, HOT, HOT_RESOURCES);
    const start = async (edited: readonly string[], edit = editSpec): Promise<Load> => {
      const load = editRepeatedly(edited, (name, turn) => edit(stage, namespace, name, turn));
      await sleep(3_000);
      return load;
    };
    const [unseen, seen] = [[healthy.namespace], [healthy.namespace, namespace]];
    return [
      {
        label: "edits that the operator does not see",
        namespaces: unseen,
        start: () => start(names),
      },
      { label: "without edits", namespaces: unseen },
      {
        label: "edits and statuses that it does not see",
        namespaces: unseen,
        start: () => start(names, editSpecAndStatus),
      },
      {
        label: `next to ${HOT_RESOURCES} edited resources`,
        namespaces: seen,
        start: () => start(names),
      },
      {
        label: "next to one edited resource",
        namespaces: seen,
        start: () => start(names.slice(0, 1)),
      },
    ];
  },
};

type Edit = (stage: Stage, namespace: string, name: string, turn: number) => Promise<void>;

/** Changes the spec such that the change concerns the operator and does not change the target. */
const editSpec: Edit = (stage, namespace, name, turn) =>
  stage.kube.patch("VaultSecret", namespace, name, {
    spec: { target: { whenRemoved: turn % 2 === 0 ? "Delete" : "Retain" } },
  });

/** Costs the API server what an operator does that writes a status for each edit. */
const editSpecAndStatus: Edit = async (stage, namespace, name, turn) => {
  await editSpec(stage, namespace, name, turn);
  await stage.kube.patch("VaultSecret", namespace, `${name}/status`, {
    status: { observedGeneration: turn + 1 },
  });
};

/** Edits one resource after the other. */
function editRepeatedly(
  names: readonly string[],
  edit: (name: string, turn: number) => Promise<void>,
): Load {
  const from = performance.now();
  const ended = new AbortController();
  const pending = new Set<Promise<void>>();
  let [edits, applied] = [0, 0];
  const work = async (): Promise<void> => {
    for (; !ended.signal.aborted; edits += 1) {
      const sent = edit(names[edits % names.length] ?? "", Math.floor(edits / names.length)).then(
        () => {
          applied += 1;
          pending.delete(sent);
        },
      );
      pending.add(sent);
      await sleep(Math.max(0, from + ((edits + 1) * 1_000) / EDITS_PER_SECOND - performance.now()));
    }
    await Promise.all(pending);
  };
  const working = work();
  return {
    events: () => applied,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await working;
    },
  };
}
