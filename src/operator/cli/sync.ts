import { randomUUID } from "node:crypto";
import { Command, InvalidArgumentError } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { isObject } from "../../lib/is-object.ts";
import { type Kind, vaultFileKind, vaultPushKind, vaultSecretKind } from "../api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../api/names.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import type { KubeObject, ObjectRef } from "../kube/resource.ts";
import {
  addClusterOptions,
  type Cluster,
  type ClusterFlags,
  withCluster,
} from "./cluster/cluster.ts";
import { resourceState } from "./status/resource-state.ts";
import { isReady, NOT_READY, problemLines, resourceTable } from "./status/status-tables.ts";
import { stopSignal } from "../../command-line/stop-signal.ts";

interface SyncFlags extends ClusterFlags {
  readonly timeout: number;
}

/** Time between two reads of a resource that is being synced, in milliseconds. */
const POLL_MS = 250;
const OPTIONS = { allNamespaces: false, items: false } as const;

interface ResourceName {
  readonly kind: Kind;
  readonly name: string;
}

/**
 * Parses `NAME`, a VaultSecret, or `KIND/NAME`, with the names of a kind that kubectl accepts.
 * @throws InvalidArgumentError
 */
function parseName(text: string, before: readonly ResourceName[] = []): ResourceName[] {
  const [first = "", second, ...more] = text.split("/");
  const kindName = second === undefined ? vaultSecretKind.singular : first.toLowerCase();
  const isOf = ({ singular, plural, shortName }: Kind): boolean =>
    [singular, plural, shortName].includes(kindName);
  const kind = [vaultSecretKind, vaultFileKind, vaultPushKind].find(isOf);
  const name = second ?? first;
  if (kind === undefined || name === "" || more.length > 0)
    throw new InvalidArgumentError(
      "expected NAME, vaultsecret/NAME, vaultfile/NAME or vaultpush/NAME.",
    );
  return [...before, { kind, name }];
}

/** Parses a time in seconds, with or without the unit. @throws InvalidArgumentError */
function parseSeconds(text: string): number {
  const [, seconds] = /^([1-9][0-9]{0,4})s?$/u.exec(text) ?? [];
  if (seconds === undefined) throw new InvalidArgumentError("expected seconds, such as 60s.");
  return Number(seconds);
}

const echoOf = ({ status }: KubeObject): unknown =>
  isObject(status) ? status["lastForceSync"] : undefined;

/**
 * Sets the annotation that requests a sync. Another change of the resource at the same time is
 * kept. @throws KubeError
 */
async function annotate(
  api: KubeApi,
  kind: Kind,
  ref: ObjectRef,
  request: string,
  signal: AbortSignal,
): Promise<KubeObject> {
  for (;;) {
    const { uid, resourceVersion } = (await api.getMetadata(kind, ref, signal)).metadata;
    const patch = { metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: request } } };
    try {
      return await api.patch(kind, { ...ref, uid, resourceVersion }, patch, signal);
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
    }
  }
}

/**
 * Requests a sync, and waits until the operator reports it. @throws Error that says why it does not
 */
async function sync(
  { api, namespace }: Cluster,
  { kind, name }: ResourceName,
  timeout: number,
  signal: AbortSignal,
) {
  const ref = { namespace, name };
  const id = `${kind.singular}/${name}`;
  const request = `${new Date(systemClock.now()).toISOString()} ${randomUUID()}`;
  const expired = systemClock.monotonic() + timeout * 1_000;
  try {
    let object = await annotate(api, kind, ref, request, signal);
    while (echoOf(object) !== request) {
      if (isObject(object.spec) && object.spec["suspend"] === true)
        throw new Error(`${id} is suspended: set spec.suspend to false`);
      if (systemClock.monotonic() > expired) {
        const { reason, message } = resourceState(object);
        throw new Error(
          `${id} was not synced within ${timeout} s (${reason}: ${message}): does an operator run for ${namespace}?`,
        );
      }
      await systemClock.sleep(POLL_MS, signal);
      object = await api.get(kind, ref, signal);
    }
    return resourceState(object);
  } catch (error) {
    throw isKubeError(error, "NotFound") ? new Error(`no ${id} in namespace ${namespace}`) : error;
  }
}

async function syncAll(
  cluster: Cluster,
  names: readonly ResourceName[],
  { timeout }: SyncFlags,
  signal: AbortSignal,
) {
  const states = await Promise.all(names.map((name) => sync(cluster, name, timeout, signal)));
  process.stdout.write(resourceTable(states, { ...OPTIONS, now: systemClock.now() }));
  const problems = problemLines(states, { ...OPTIONS, now: systemClock.now() });
  if (problems !== "") process.stdout.write(`\n${problems}`);
  process.exitCode = states.every(isReady) ? 0 : NOT_READY;
}

/** Returns the definition of `vaultsync sync`, which changes one annotation of each resource. */
export function syncCommand(): Command {
  return addClusterOptions(new Command("sync"))
    .description(
      `Sync resources now instead of at the next list of the vault, and wait for the result. The target is read and compared as well. The exit code is ${NOT_READY} if one is not ready.`,
    )
    .argument("<name...>", "NAME or vaultsecret/NAME, vaultfile/NAME or vaultpush/NAME", parseName)
    .option("--timeout <seconds>", "time to wait for the operator", parseSeconds, 60)
    .action(async (names: ResourceName[], flags: SyncFlags) => {
      const signal = stopSignal();
      await withCluster(flags, (cluster) => syncAll(cluster, names, flags, signal)).catch(
        (error: unknown) => {
          if (!signal.aborted) throw error;
        },
      );
    });
}
