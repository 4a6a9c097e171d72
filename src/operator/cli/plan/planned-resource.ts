import type { z } from "zod";
import {
  clusterConnectionSpec,
  type ClusterConnectionSpec,
  connectionSpec,
} from "../../api/vault-connection.ts";
import { connectionKey, type ConnectionRef } from "../../api/connection-key.ts";
import {
  API_GROUP,
  type ConnectionKind,
  connectionKinds,
  type Kind,
  syncedKinds,
  vaultPushKind,
} from "../../api/kinds.ts";
import { vaultPushSpec } from "../../api/vault-push.ts";
import { parseFile } from "../../sync/parse-file.ts";
import { parseSecret } from "../../sync/parse-secret.ts";
import { entriesOf, fansOut, type SyncKind } from "../../sync/sync-key.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { fieldProblem, type Manifest, type Problem, problemAt } from "../manifests/manifest.ts";
import { required } from "../manifests/read-manifests.ts";
import { checkFields, unknownFields } from "./check-fields.ts";
import { clusterVaultFileSpec, vaultFileSpec } from "../../api/vault-file.ts";
import { clusterVaultSecretSpec, vaultSecretSpec } from "../../api/vault-secret.ts";

/** The schemas of specs, by the kind of the resource. */
export const specSchemas: Readonly<Record<SyncKind, z.ZodType>> = {
  VaultSecret: vaultSecretSpec,
  VaultFile: vaultFileSpec,
  ClusterVaultSecret: clusterVaultSecretSpec,
  ClusterVaultFile: clusterVaultFileSpec,
};

/**
 * A VaultSecret or VaultFile whose spec is valid, or a ClusterVaultSecret or ClusterVaultFile in one
 * namespace, and its desired state as the operator reads it.
 */
export interface PlannedResource {
  readonly manifest: Manifest;
  readonly resource: SyncResource;
}

/** One key of a Secret that is pushed. */
interface PushedItem {
  readonly key: string;
  /** `secret/<name>` or `file/<name>`. */
  readonly entry: string;
  readonly path: readonly PropertyKey[];
}

/** A VaultPush whose spec is valid. */
export interface PlannedPush {
  readonly manifest: Manifest;
  readonly connection: ConnectionRef;
  readonly secret: string;
  readonly items: readonly PushedItem[];
}

export interface PlannedConnection {
  readonly manifest: Manifest;
  readonly kind: ConnectionKind;
  readonly spec: ClusterConnectionSpec;
}

export interface Plan {
  /** Keys of all connections, also of invalid ones. */
  readonly declared: ReadonlySet<string>;
  readonly connections: readonly PlannedConnection[];
  readonly resources: readonly PlannedResource[];
  /** The cluster-scoped resources, without a namespace. */
  readonly fannedOut: readonly PlannedResource[];
  readonly pushes: readonly PlannedPush[];
}

/** Returns the key by which resources refer to a connection. */
export const keyOfConnection = ({ manifest, kind }: PlannedConnection): string =>
  connectionKey({ kind, name: manifest.name }, manifest.namespace);

/** Returns the connection that a resource or push refers to. */
export const connectionOf = (one: PlannedResource | PlannedPush): ConnectionRef =>
  "resource" in one ? one.resource.connection : one.connection;

/** Returns the key of the connection that a resource or push refers to. */
export const keyOfReference = (one: PlannedResource | PlannedPush): string =>
  connectionKey(connectionOf(one), one.manifest.namespace);

/** Returns the path of an item in its manifest: its reference, or the rule that found it. */
export function pathOf(
  { resource: { kind, items } }: PlannedResource,
  { id, foundBy }: SyncItem,
): readonly PropertyKey[] {
  const [, field, index] = /^(\w+)\[(\d+)\]$/u.exec(foundBy?.id ?? id) ?? [];
  if (field !== undefined) return ["spec", field, Number(index)];
  const place = items.findIndex((item) => item.id === id);
  return entriesOf(kind) === "secret"
    ? ["spec", "data", place, "remoteRef"]
    : ["spec", "files", place];
}

function parseSpec<T>(
  schema: z.ZodType<T>,
  manifest: Manifest,
  problems: Problem[],
): T | undefined {
  const result = schema.safeParse(manifest.spec, { error: required });
  const wrong = result.error?.issues ?? [];
  problems.push(
    ...wrong.map(({ path, message }) => fieldProblem(manifest, ["spec", ...path], message)),
    ...unknownFields(manifest, schema),
  );
  return result.data;
}

/** Returns the connection of a manifest, if it is valid. */
function plannedConnection(
  manifest: Manifest,
  kind: ConnectionKind,
  problems: Problem[],
): PlannedConnection[] {
  const schema = kind === "VaultConnection" ? connectionSpec : clusterConnectionSpec;
  const spec = parseSpec<ClusterConnectionSpec>(schema, manifest, problems);
  return spec === undefined ? [] : [{ manifest, kind, spec }];
}

/** Returns the resource of a manifest that has targets, if it is valid. */
function plannedResource(
  manifest: Manifest,
  kind: SyncKind,
  moreTypes: readonly string[],
  problems: Problem[],
): PlannedResource[] {
  const { name, spec } = manifest;
  const namespace = fansOut(kind) ? "" : manifest.namespace;
  if (parseSpec(specSchemas[kind], manifest, problems) === undefined) return [];
  const written = { kind, metadata: { name, namespace }, spec };
  const isSecret = entriesOf(kind) === "secret";
  const parsed = isSecret ? parseSecret(written, moreTypes) : parseFile(written);
  if (parsed.ok) return [{ manifest: { ...manifest, namespace }, resource: parsed.resource }];
  problems.push(problemAt(manifest, ["spec", "target", "type"], parsed.readyCondition.message));
  return [];
}

/** Returns the VaultPush of a manifest, if it is valid. */
function plannedPush(manifest: Manifest, problems: Problem[]): PlannedPush[] {
  const spec = parseSpec(vaultPushSpec, manifest, problems);
  if (spec === undefined) return [];
  const items = (spec.data ?? []).map(({ secretKey, remoteRef, file }, index) => ({
    key: secretKey,
    entry: remoteRef === undefined ? `file/${file?.filename}` : `secret/${remoteRef.key}`,
    path: ["spec", "data", index],
  }));
  const connection = { kind: "VaultConnection", name: spec.connectionRef.name } as const;
  return [{ manifest, connection, secret: spec.secret.name, items }];
}

const kinds = new Map<string, Kind>(
  [...Object.values(connectionKinds), ...Object.values(syncedKinds), vaultPushKind].map((kind) => [
    kind.kind,
    kind,
  ]),
);

/**
 * Parses the specs. An invalid spec becomes a problem and is not part of the plan.
 * @param moreTypes types of Secrets that the operator allows in addition to the default ones
 */
export function planOf(
  manifests: readonly Manifest[],
  moreTypes: readonly string[],
  problems: Problem[],
): Plan {
  const declared = new Set<string>();
  const connections: PlannedConnection[] = [];
  const resources: PlannedResource[] = [];
  const fannedOut: PlannedResource[] = [];
  const pushes: PlannedPush[] = [];
  for (const manifest of manifests) {
    const kind = kinds.get(manifest.kind);
    if (kind !== undefined) problems.push(...checkFields(manifest, kind));
    switch (manifest.kind) {
      case "VaultConnection":
      case "ClusterVaultConnection":
        declared.add(
          connectionKey({ kind: manifest.kind, name: manifest.name }, manifest.namespace),
        );
        connections.push(...plannedConnection(manifest, manifest.kind, problems));
        break;
      case "VaultSecret":
      case "VaultFile":
        resources.push(...plannedResource(manifest, manifest.kind, moreTypes, problems));
        break;
      case "ClusterVaultSecret":
      case "ClusterVaultFile":
        fannedOut.push(...plannedResource(manifest, manifest.kind, moreTypes, problems));
        break;
      case "VaultPush":
        pushes.push(...plannedPush(manifest, problems));
        break;
      default: {
        const message = `kind: ${manifest.kind} is not a kind of ${API_GROUP}`;
        problems.push(problemAt(manifest, ["kind"], message));
      }
    }
  }
  return { declared, connections, resources, fannedOut, pushes };
}
