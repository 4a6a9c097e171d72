import type { z } from "zod";
import {
  ACCEPT_ANNOTATION,
  APPROVE_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
  HOLD_ANNOTATION,
} from "../api/names.ts";
import { parseDuration, parseLongDuration } from "../lib/duration.ts";
import type { UpdatesSpec } from "../api/updates.ts";
import { explainProblems } from "../api/validation.ts";
import type { ConnectionKind } from "../api/kinds.ts";
import { parseHold } from "./gate.ts";
import type { SyncResource, TargetPolicy, TargetTemplate, UpdatePolicy } from "./sync-resource.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { entriesOf } from "./sync-key.ts";
import { timeWindows } from "../lib/window.ts";

/** A resource as the API server or a file has it. */
export interface WrittenResource {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

/** A parsed resource, or the reason why its spec is invalid. */
export type ParsedResource =
  | { readonly ok: true; readonly resource: SyncResource }
  | {
      readonly ok: false;
      readonly resource: SyncResource;
      readonly readyCondition: ReadyCondition;
    };

/** The items and the target that a spec requests. */
export type DesiredState = Pick<
  SyncResource,
  "items" | "finds" | "template" | "target" | "policy" | "whenRemoved" | "whenMissing"
>;

interface CommonSpec {
  readonly connectionRef: { readonly kind?: ConnectionKind | undefined; readonly name: string };
  readonly suspend?: boolean | undefined;
  readonly refreshInterval?: string | undefined;
  readonly expiryNotice?: string | undefined;
  readonly updates?: UpdatesSpec | undefined;
}

/** Returns when newer versions are followed; `undefined` if nothing has to be waited for. */
function updatePolicyOf({ approval = "None", windows = [] }: UpdatesSpec = {}):
  | UpdatePolicy
  | undefined {
  if (approval === "None" && windows.length === 0) return undefined;
  return {
    needsApproval: approval === "Required",
    windows: timeWindows(windows),
  };
}

/** The policies in `spec.target`. */
type PolicySpec = Partial<{ readonly [K in keyof TargetPolicy]: TargetPolicy[K] | undefined }> & {
  readonly whenRemoved?: SyncResource["whenRemoved"] | undefined;
  readonly whenMissing?: SyncResource["whenMissing"] | undefined;
};

/** Returns the template of a target, with the rules for its keys. */
export const templateOf = ({
  template,
  validate: contracts,
}: {
  readonly template?: TargetTemplate | undefined;
  readonly validate?: TargetTemplate["contracts"];
} = {}): TargetTemplate | undefined => template && { ...template, contracts };

/** Returns the policies of a target with their defaults. */
export function policiesOf(
  target: PolicySpec = {},
): Pick<SyncResource, "policy" | "whenRemoved" | "whenMissing"> {
  const { creationPolicy = "Owner", labels = {}, annotations = {}, immutable = false } = target;
  const { whenRemoved = "Delete", whenMissing = "Retain" } = target;
  return { policy: { creationPolicy, labels, annotations, immutable }, whenRemoved, whenMissing };
}

/** Maximum number of commas in a name for which an annotation can accept a version. */
const MAX_COMMAS = 8;

/**
 * Returns the pairs `name@version` of the annotation. A name may contain commas: every part that is
 * a pair counts.
 */
function accepted(object: WrittenResource): Set<string> {
  const parts = (object.metadata.annotations?.[ACCEPT_ANNOTATION] ?? "").split(",");
  const pairs = new Set<string>();
  for (let start = 0; start < parts.length; start += 1) {
    for (let end = start + 1; end <= Math.min(parts.length, start + 1 + MAX_COMMAS); end += 1) {
      const pair = parts.slice(start, end).join(",").trim();
      if (/@\d+$/.test(pair)) pairs.add(pair);
    }
  }
  return pairs;
}

/** Returns the desired state that VaultSecrets and VaultFiles have in common. */
function commonState(spec: CommonSpec) {
  const { connectionRef, suspend = false, refreshInterval, expiryNotice, updates } = spec;
  return {
    connection: { kind: connectionRef.kind ?? "VaultConnection", name: connectionRef.name },
    suspend,
    refreshIntervalMs: refreshInterval === undefined ? undefined : parseDuration(refreshInterval),
    expiryNoticeMs: expiryNotice === undefined ? undefined : parseLongDuration(expiryNotice),
    updates: updatePolicyOf(updates),
  };
}

/**
 * Parses a resource whose spec has this schema; `desiredState` derives the target and its items
 * from the spec.
 */
export function parseResource<S extends CommonSpec>(
  kind: SyncResource["kind"],
  schema: z.ZodType<S>,
  object: WrittenResource,
  desiredState: (spec: S, name: string) => DesiredState,
): ParsedResource {
  const { metadata } = object;
  const identity = {
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    generation: metadata.generation ?? 0,
    forceSync: metadata.annotations?.[FORCE_SYNC_ANNOTATION],
    accepted: accepted(object),
    approved: metadata.annotations?.[APPROVE_ANNOTATION],
    hold: parseHold(metadata.annotations?.[HOLD_ANNOTATION]),
  };
  const parsed = schema.safeParse(object.spec);
  if (parsed.success) {
    const { data } = parsed;
    return {
      ok: true,
      resource: { ...identity, ...commonState(data), ...desiredState(data, metadata.name) },
    };
  }
  const target = {
    kind: entriesOf(kind) === "secret" ? "Secret" : "ConfigMap",
    name: metadata.name,
    type: undefined,
  } as const;
  return {
    ok: false,
    resource: {
      ...identity,
      connection: { kind: "VaultConnection", name: "" },
      suspend: false,
      refreshIntervalMs: undefined,
      items: [],
      finds: [],
      target,
      ...policiesOf({ whenRemoved: "Retain" }),
    },
    readyCondition: notReady("InvalidSpec", explainProblems(parsed.error)),
  };
}
