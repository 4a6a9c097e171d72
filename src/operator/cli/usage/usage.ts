import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatObject } from "../../../command-line/format.ts";
import { systemClock } from "../../../lib/clock.ts";
import { isObject } from "../../../lib/is-object.ts";
import { nextOpening } from "../../lib/window.ts";
import { formatTimestamp } from "../../sync/timestamp.ts";
import { refersTo, restartWindows, rolloutRestart } from "../../api/rollout-restart.ts";
import { withClusterUntilStopped } from "../cluster.ts";
import type { ClusterFlags } from "../options.ts";
import { printUnusedEntries, readPushed } from "./unused-entries.ts";
import { type Usage, type UsingResource, usersOf, type Workload } from "./read-usage.ts";
import { readWholeUsage } from "./read-whole-usage.ts";

/** Flags of `vaultsync usage`. */
export interface UsageFlags extends ClusterFlags, FormatFlags, AccountFlags {
  readonly unused?: boolean;
  readonly unusedEntries?: boolean;
  readonly impact?: boolean;
}

/** Effect on a workload when a target that it uses changes. */
export interface RestartFacts {
  /** The reason for which the operator restarts it. */
  readonly restart: "rolloutRestart" | "auto" | "none";
  /** Time at which the next window of its restarts opens, RFC 3339; `undefined`: one is open. */
  readonly restartsAt?: string | undefined;
}

/** One row: an entry, a resource, and a workload that uses the target. */
interface Row extends Omit<RestartFacts, "restart"> {
  readonly entry: string;
  readonly version: number | undefined;
  readonly namespace: string;
  readonly resource: string;
  readonly target: string;
  readonly workload: string | undefined;
  readonly restart: RestartFacts["restart"] | undefined;
  readonly gate: UsingResource["gate"];
  /** Status of the condition Converged. */
  readonly converged: string | undefined;
}

/** Returns a resource or workload as tables name it: `deployment/web`. */
export const idOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  `${kind.toLowerCase()}/${name}`;

/**
 * Returns why the operator restarts a workload when the target of a resource with this spec changes,
 * and when its next window opens if none is open.
 */
export function restartOf(spec: unknown, workload: Workload): RestartFacts {
  const written = isObject(spec) ? spec["rolloutRestart"] : undefined;
  const references = rolloutRestart.safeParse(written).data ?? [];
  const isNamed = references.some((reference) => refersTo(reference, workload));
  if (!isNamed) return { restart: workload.isAuto ? "auto" : "none" };
  const opensAt = nextOpening(restartWindows(references, workload), systemClock.now());
  return { restart: "rolloutRestart", restartsAt: formatTimestamp(opensAt) };
}

/** Returns a row for each entry of each resource and each workload that uses the target. */
export function usageRows(usage: Usage): Row[] {
  return usage.resources.flatMap((resource) => {
    const { namespace, target, gate, converged } = resource;
    const users = usersOf(usage, resource);
    // Keys of one target may have several versions of an entry.
    const entries = new Map(
      resource.entries.map((one) => [JSON.stringify([one.entry, one.version]), one]),
    );
    return [...entries.values()].flatMap(({ entry, version }): Row[] => {
      const row = {
        entry,
        version,
        namespace,
        resource: idOf(resource),
        target: target.toLowerCase(),
      };
      const facts = { ...row, gate, converged: converged?.status };
      if (users.length === 0) return [{ ...facts, workload: undefined, restart: undefined }];
      return users.map((workload) => ({
        ...facts,
        workload: idOf(workload),
        ...restartOf(resource.object.spec, workload),
      }));
    });
  });
}

/** Reports whether a row concerns a name: an entry, or `KIND/NAME` of a resource, target or workload. */
const concerns =
  (name: string) =>
  ({ entry, resource, target, workload }: Row): boolean =>
    entry === name || [resource, target, workload].includes(name.toLowerCase());

const byText = (a: Row, b: Row): number => {
  const [one, other] = [a, b].map(({ entry, namespace, resource, workload = "" }) =>
    JSON.stringify([entry, namespace, resource, workload]),
  );
  if (one === other) return (b.version ?? 0) - (a.version ?? 0);
  return (one ?? "") < (other ?? "") ? -1 : 1;
};

const WHEN = {
  approval: "after an approval",
  window: "in the next window",
  hold: "not before the hold ends",
} as const;

/** Returns what becomes of a workload when an entry gets a new version. */
function consequence({ restart, restartsAt, gate, workload }: Row): string {
  if (workload === undefined) return "-";
  const when = gate === undefined ? "immediately" : WHEN[gate];
  if (restartsAt !== undefined)
    return `new content ${when}, restarted in the window at ${restartsAt}`;
  return `${restart === "none" ? "not restarted" : "restarted"}, ${when}`;
}

function table(rows: readonly Row[], isImpact: boolean): string {
  const last = isImpact ? "NEW VERSION" : "CONVERGED";
  const header = ["ENTRY", "VERSION", "NAMESPACE", "RESOURCE", "TARGET", "WORKLOAD", last];
  const cells = rows.map((row) => [
    row.entry,
    `${row.version ?? "-"}`,
    row.namespace || "-",
    row.resource,
    row.target,
    row.workload ?? "-",
    isImpact ? consequence(row) : (row.converged ?? "-"),
  ]);
  return formatTable(header, cells);
}

/**
 * Prints which resources refer to an entry of the vault, and which workloads use their targets.
 * Reads the cluster only, or also the list of the vault for entries without a resource.
 */
export const usage = (name: string | undefined, flags: UsageFlags): Promise<void> =>
  withClusterUntilStopped(flags, async (cluster, signal) => {
    const found = await readWholeUsage(cluster, signal);
    if (flags.unusedEntries === true)
      return printUnusedEntries(found, await readPushed(cluster, signal), flags);
    const unseen = [...found.unseen, ...found.hidden];
    const rows = usageRows(found)
      .filter((row) => name === undefined || concerns(name)(row))
      .filter(({ workload }) => flags.unused !== true || workload === undefined)
      .sort(byText);
    if (flags.output === "table") process.stdout.write(table(rows, flags.impact === true));
    else process.stdout.write(formatObject({ usage: rows, unseen }, flags.output));
    if (unseen.length > 0)
      process.stderr.write(`not seen, because you may not list them: ${unseen.join(", ")}\n`);
  });
