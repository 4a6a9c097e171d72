import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../stage.ts";
import {
  emailOf,
  type Load,
  namesOf,
  type NeighborScenario,
  openStage,
} from "./neighbor-scenario.ts";

const NEIGHBOR = "hot";
const RESOURCES = 100;
/**
 * All resources together: each edit takes the API server and the benchmark several times as much
 * CPU time as the operator.
 */
const EDITS_PER_SECOND = 100;

/** Resources whose specs are edited all the time: a hundred in turn, or always the same one. */
export async function openHot(): Promise<NeighborScenario> {
  const { stage, healthy, owned } = await openStage([NEIGHBOR]);
  const namespace = await stage.plane.createNamespace(NEIGHBOR);
  const client = await stage.client(emailOf(NEIGHBOR));
  const names = namesOf(NEIGHBOR, RESOURCES);
  await stage.fill(client, names);
  await stage.connections(namespace, new Map([[NEIGHBOR, { email: emailOf(NEIGHBOR) }]]));
  await stage.secrets(namespace, NEIGHBOR, names);
  const start = async (edited: readonly string[], edit = editSpec): Promise<Load> => {
    const load = editRepeatedly(edited, (name, turn) => edit(stage, namespace, name, turn));
    await sleep(3_000);
    return load;
  };
  const [unseen, seen] = [[healthy.namespace], [healthy.namespace, namespace]];
  const arms = [
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
    { label: `next to ${RESOURCES} edited resources`, namespaces: seen, start: () => start(names) },
    {
      label: "next to one edited resource",
      namespaces: seen,
      start: () => start(names.slice(0, 1)),
    },
  ];
  return { stage, healthy, arms, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

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
