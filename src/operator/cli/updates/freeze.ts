import type { FormatFlags } from "../../../command-line/options.ts";
import { systemClock } from "../../../lib/clock.ts";
import { FREEZE_CONFIG_MAP } from "../../api/names.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { CONFIG_MAPS, LEASES } from "../../kube/resource.ts";
import { defined } from "../../lib/defined.ts";
import { parseFreeze } from "../../sync/freeze.ts";
import { type Cluster, withClusterUntilStopped } from "../cluster.ts";
import type { ClusterFlags } from "../options.ts";
import { isOfOperator } from "../release/release.ts";
import { formatObject } from "../../../command-line/format.ts";
import type { NamespaceSelector } from "../../api/namespace-selector.ts";

type Expression = NonNullable<NamespaceSelector["matchExpressions"]>[number];

const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/u;
const EQUALITY = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/u;
const EXISTENCE = /^(!?)\s*([^\s=!()]+)$/u;

/** Returns what one requirement of a selector means; `undefined` if it is malformed. */
function expressionOf(text: string): Expression | undefined {
  const [, setKey, set, members] = SET.exec(text) ?? [];
  if (setKey !== undefined && members !== undefined)
    return {
      key: setKey,
      operator: set === "in" ? "In" : "NotIn",
      values: members.split(",").map((value) => value.trim()),
    };
  const [, key, equality, value] = EQUALITY.exec(text) ?? [];
  if (key !== undefined && value !== undefined)
    return { key, operator: equality === "!=" ? "NotIn" : "In", values: [value] };
  const [, not, label] = EXISTENCE.exec(text) ?? [];
  return label === undefined
    ? undefined
    : { key: label, operator: not === "!" ? "DoesNotExist" : "Exists" };
}

/**
 * Parses a selector of labels as kubectl does: `team=shop,tier!=test`, `team in (a, b)`, `team`,
 * `!team`.
 * @throws Error that names the malformed requirement
 */
export function parseSelector(text: string): NamespaceSelector {
  // A comma between parentheses belongs to a set.
  const parts = text.split(/,(?![^(]*\))/u).map((part) => part.trim());
  const matchExpressions = parts.map((part) => {
    const expression = expressionOf(part);
    if (expression === undefined)
      throw new Error(
        `--namespace-selector: cannot parse ${JSON.stringify(part)}: expected labels such as team=shop,tier!=test`,
      );
    return expression;
  });
  return { matchExpressions };
}

/** Flags of `vaultsync unfreeze`. */
export interface UnfreezeFlags extends ClusterFlags, FormatFlags {
  readonly operatorNamespace: string;
}

/** Flags of `vaultsync freeze`. */
export interface FreezeFlags extends UnfreezeFlags {
  readonly until: string;
  readonly reason?: string;
  readonly namespaceSelector?: string;
}

/** Returns the data of the ConfigMap. @throws Error that says which flag is not valid */
export function freezeData(
  { until, reason, namespaceSelector }: Omit<FreezeFlags, keyof UnfreezeFlags>,
  now: number,
): Record<string, string> {
  const selector = namespaceSelector === undefined ? undefined : parseSelector(namespaceSelector);
  const text = selector && JSON.stringify(selector);
  const data = defined({ until, reason, namespaceSelector: text });
  const { problem, endsAt } = parseFreeze({ values: data, writtenAt: now });
  if (problem !== undefined) throw new Error(problem.replace(/^.*: data\./u, "--"));
  if (endsAt <= now) throw new Error(`--until: ${until} is over`);
  return data;
}

/** Creates or replaces the ConfigMap. */
async function writeFreeze(
  { api }: Cluster,
  namespace: string,
  data: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { namespace, name: FREEZE_CONFIG_MAP };
  const object = { apiVersion: "v1", kind: CONFIG_MAPS.kind, metadata, data };
  for (;;) {
    try {
      await api.create(CONFIG_MAPS, object, signal);
      return;
    } catch (error) {
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    try {
      const before = await api.get(CONFIG_MAPS, metadata, signal);
      await api.replace(CONFIG_MAPS, { ...before, data }, signal);
      return;
    } catch (error) {
      if (!isKubeError(error, "Conflict", "NotFound")) throw error;
    }
  }
}

/**
 * Returns why a freeze in a namespace may keep nothing: no operator reads it there. `undefined` if
 * one does, or the user may not know. @throws KubeError
 */
async function operatorNote(
  { api }: Cluster,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    for await (const { items } of api.list(LEASES, { namespace, paged: true }, signal))
      if (items.some(({ metadata }) => isOfOperator(metadata))) return undefined;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
  return `no operator has a Lease in namespace ${namespace}: unless one runs there with --no-leader-elect, nothing is frozen; --operator-namespace names another namespace`;
}

/** Prints an object, or the text in place of its table. */
function print({ output }: FormatFlags, object: object, text: string): void {
  process.stdout.write(output === "table" ? `${text}\n` : formatObject(object, output));
}

async function begin(cluster: Cluster, flags: FreezeFlags, signal: AbortSignal): Promise<void> {
  const { operatorNamespace, namespaceSelector } = flags;
  const data = freezeData(flags, systemClock.now());
  await writeFreeze(cluster, operatorNamespace, data, signal);
  const where =
    namespaceSelector === undefined
      ? "no target"
      : `no target in namespaces with ${namespaceSelector}`;
  const { namespaceSelector: selector, ...rest } = data;
  const shown = { frozen: true, ...rest, ...(selector !== undefined && parsed(selector)) };
  print(
    flags,
    shown,
    `${where} follows newer versions until ${flags.until}, or vaultsync unfreeze`,
  );
  const note = await operatorNote(cluster, operatorNamespace, signal);
  if (note !== undefined) process.stderr.write(`${note}\n`);
}

const parsed = (selector: string): object => ({ namespaceSelector: JSON.parse(selector) });

async function end({ api }: Cluster, flags: UnfreezeFlags, signal: AbortSignal): Promise<void> {
  const ref = { namespace: flags.operatorNamespace, name: FREEZE_CONFIG_MAP };
  try {
    await api.delete(CONFIG_MAPS, ref, signal);
    print(flags, { frozen: false }, "targets follow newer versions again");
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
    const where = `ConfigMap ${FREEZE_CONFIG_MAP} in namespace ${flags.operatorNamespace}`;
    print(flags, { frozen: false }, `nothing is frozen: there is no ${where}`);
  }
}

/** Keeps all targets, or the ones in some namespaces, from following newer versions until a time. */
export const freeze = (flags: FreezeFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => begin(cluster, flags, signal));

/** Ends a freeze. */
export const unfreeze = (flags: UnfreezeFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => end(cluster, flags, signal));
