import { type Cell, formatAge, formatTable } from "../../../command-line/format.ts";
import type { ConnectionState, FanOutState, ItemState, ResourceState } from "./resource-state.ts";

type Readable = ConnectionState | FanOutState | ResourceState;

/** The choices of what a table shows. */
export interface TableOptions {
  /** Time in milliseconds since the epoch that ages refer to. */
  readonly now: number;
  readonly allNamespaces: boolean;
  /** One row per key of a target. */
  readonly items: boolean;
}

const NONE = "-";
const colors = { True: "green", False: "red", Unknown: "yellow" } as const;

const nameOf = ({ kind, name }: Readable): string => `${kind}/${name}`;

/** Reports whether an object is in the state that its spec requests. */
export const isReady = ({ ready, current, stale }: Readable): boolean =>
  ready === "True" && current && !stale;

function readyCells(state: Readable): Cell[] {
  const { ready, reason, current, stale } = state;
  const color = ready === "True" && !isReady(state) ? "yellow" : colors[ready];
  const notes = [
    ...(stale ? ["stale"] : []),
    ...(current || reason === "Pending" ? [] : ["outdated"]),
  ];
  return [{ text: ready, color }, notes.length === 0 ? reason : `${reason} (${notes.join(", ")})`];
}

const since = (timestamp: string | undefined, now: number): string =>
  timestamp === undefined ? NONE : formatAge(now - Date.parse(timestamp));
/** Times further away mean never: the vault's own default for a removal is a thousand years. */
const NEVER_MS = 100 * 365 * 24 * 3_600_000;
const until = (timestamp: string | undefined, now: number): string => {
  if (timestamp === undefined) return NONE;
  const ms = Date.parse(timestamp) - now;
  if (ms > NEVER_MS) return NONE;
  return ms < 0 ? `${formatAge(-ms)} ago` : formatAge(ms);
};

const earliest = (
  items: readonly ItemState[],
  ...fields: readonly ("expiresAt" | "notAfter" | "deleteAt")[]
): string | undefined =>
  items
    .flatMap((item) => fields.flatMap((field) => item[field] ?? []))
    .sort((a, b) => Date.parse(a) - Date.parse(b))
    .at(0);

/** Returns the version that the target has, and the latest one if it differs. */
function versionText({ version, latest }: ItemState): string {
  const served = version === undefined ? NONE : String(version);
  return latest === undefined || latest === version ? served : `${served} (latest ${latest})`;
}

/** Returns the version of a single key, or how many of several are at the latest version. */
function versionsText({ items, itemsOmitted }: ResourceState): string {
  const [first, second] = items;
  if (first === undefined) return NONE;
  if (second === undefined && itemsOmitted === 0) return versionText(first);
  const current = items.filter(
    ({ version, latest }) => version !== undefined && version === latest,
  ).length;
  const more = itemsOmitted === 0 ? "" : `, ${itemsOmitted} not listed`;
  return `${current} of ${items.length} latest${more}`;
}

const namespaceCells = ({ namespace }: Readable, { allNamespaces }: TableOptions): Cell[] =>
  allNamespaces ? [namespace || NONE] : [];
const namespaceHeader = ({ allNamespaces }: TableOptions): string[] =>
  allNamespaces ? ["NAMESPACE"] : [];

/** Formats the connections, one row each. */
export function connectionTable(
  connections: readonly ConnectionState[],
  options: TableOptions,
): string {
  const header = [
    ...namespaceHeader(options),
    "CONNECTION",
    "READY",
    "REASON",
    "SECRETS",
    "FILES",
    "USERS",
    "TOKEN",
    "URL",
  ];
  const rows = connections.map((state): Cell[] => [
    ...namespaceCells(state, options),
    nameOf(state),
    ...readyCells(state),
    String(state.secrets ?? NONE),
    String(state.files ?? NONE),
    String(state.users),
    until(state.tokenExpiresAt, options.now),
    state.url,
  ]);
  return formatTable(header, rows);
}

/** The columns that tables of resources do not share. */
interface Columns<T> {
  /** Columns after the ones of the condition. */
  readonly header: readonly string[];
  readonly cellsOf: (state: T) => readonly string[];
  /** The statuses have the time of the last change of the content. */
  readonly hasTimes: boolean;
}

const noColumns: Columns<ResourceState> = { header: [], cellsOf: () => [], hasTimes: true };

const count = (number: number | undefined): string => String(number ?? NONE);
const namespaceColumns: Columns<FanOutState> = {
  header: ["NAMESPACES", "IN SYNC", "FAILED"],
  cellsOf: ({ namespaces: counts }) => [
    count(counts?.selected),
    count(counts?.ready),
    count(counts?.failed),
  ],
  hasTimes: false,
};

/** Formats resources, one row each, or one per key. */
function tableOf<T extends ResourceState>(
  resources: readonly T[],
  options: TableOptions,
  columns: Columns<T>,
): string {
  const { now, items: byItem } = options;
  const last = byItem ? ["KEY", "SOURCE", "VERSION"] : ["TARGET", "VERSION"];
  const header = [
    ...namespaceHeader(options),
    "RESOURCE",
    "READY",
    "REASON",
    ...columns.header,
    ...last,
    ...(columns.hasTimes ? ["SYNCED"] : []),
    "EXPIRES",
    "REMOVAL",
  ];
  const rows = resources.flatMap((state): Cell[][] => {
    const start = [
      ...namespaceCells(state, options),
      nameOf(state),
      ...readyCells(state),
      ...columns.cellsOf(state),
    ];
    const rowOf = (middle: readonly string[], items: readonly ItemState[]): Cell[] => [
      ...start,
      ...middle,
      ...(columns.hasTimes ? [since(state.syncedAt, now)] : []),
      until(earliest(items, "expiresAt", "notAfter"), now),
      until(earliest(items, "deleteAt"), now),
    ];
    if (!byItem) return [rowOf([state.target ?? NONE, versionsText(state)], state.items)];
    if (state.items.length === 0) return [rowOf([NONE, NONE, NONE], [])];
    const shown = state.items.map((item) =>
      rowOf([item.key, item.source, versionText(item)], [item]),
    );
    const omitted = [`${state.itemsOmitted} not listed`, NONE, NONE];
    return state.itemsOmitted === 0 ? shown : [...shown, rowOf(omitted, [])];
  });
  return formatTable(header, rows);
}

/** Formats the resources with one target, one row each, or one per key. */
export const resourceTable = (resources: readonly ResourceState[], options: TableOptions): string =>
  tableOf(resources, options, noColumns);

/** Formats the resources with targets in several namespaces likewise, with counts of these. */
export const fanOutTable = (resources: readonly FanOutState[], options: TableOptions): string =>
  tableOf(resources, options, namespaceColumns);

/** Returns a line for each namespace whose target is not in sync, as far as the status lists them. */
function failureLines(state: Readable): string[] {
  if (!("failures" in state)) return [];
  const { failures, namespaces } = state;
  const more = (namespaces?.failed ?? 0) - failures.length;
  return [
    ...failures.map(
      ({ namespace, reason, message }) =>
        `${nameOf(state)} in namespace ${namespace}: ${reason}: ${message}\n`,
    ),
    ...(more > 0 ? [`${nameOf(state)}: and ${more} more namespaces\n`] : []),
  ];
}

/** Reports whether the message of an object repeats the one of a namespace. */
const isAboutFailure = (state: Readable): boolean =>
  "failures" in state && state.failures.some(({ message }) => state.message.includes(message));

/**
 * Returns a line for each object that is not ready: what is wrong, in the words of its condition;
 * and one for each namespace that lacks the target of a cluster-scoped resource.
 */
export function problemLines(states: readonly Readable[], { allNamespaces }: TableOptions): string {
  return states
    .flatMap((state) => {
      const place = allNamespaces && state.namespace !== "" ? `${state.namespace}/` : "";
      const isShown = state.ready !== "True" && !isAboutFailure(state);
      const own = isShown ? [`${place}${nameOf(state)}: ${state.message}\n`] : [];
      return [...own, ...failureLines(state)];
    })
    .join("");
}
