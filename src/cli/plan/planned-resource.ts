import type { z } from "zod";
import type { Rewrite } from "../../lib/rewrite-key.ts";
import { isObject } from "../../lib/is-object.ts";
import { clusterConnectionSpec } from "../../operator/api/cluster-vault-connection.ts";
import { connectionKey, type ConnectionRef } from "../../operator/api/connection-key.ts";
import {
  clusterVaultConnectionKind,
  type ConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../operator/api/kinds.ts";
import { connectionSpec, type ConnectionSpec } from "../../operator/api/vault-connection.ts";
import { vaultFileSpec, type VaultFileSpec } from "../../operator/api/vault-file.ts";
import { vaultPushSpec } from "../../operator/api/vault-push.ts";
import { vaultSecretSpec, type VaultSecretSpec } from "../../operator/api/vault-secret.ts";
import { formatPath, type Manifest, type Problem, problemAt } from "../manifests/manifests.ts";

/** One key of a target, and the entry of the vault that it is read from; all keys of an extracted object are one item. */
export interface PlannedItem {
  readonly key: string;
  readonly source: string;
  readonly owner?: string | undefined;
  /** `latest` if undefined. */
  readonly version?: number | undefined;
  /** Its absence is no problem. */
  readonly isOptional?: boolean | undefined;
  /** Path of the reference in the manifest. */
  readonly path: readonly PropertyKey[];
}

/** A rule that selects entries of the vault. */
export interface PlannedFind {
  /** Its place in the spec. */
  readonly id: string;
  /** Regular expression of the names. */
  readonly pattern: string;
  readonly metadata: Readonly<Record<string, string | undefined>>;
  readonly rewrite: readonly Rewrite[];
  /** Path of the rule in the manifest. */
  readonly path: readonly PropertyKey[];
}

/** A VaultSecret or VaultFile whose spec is valid. */
export interface PlannedResource {
  readonly manifest: Manifest;
  readonly connection: ConnectionRef;
  readonly target: { readonly kind: string; readonly name: string; readonly isMerged: boolean };
  readonly items: readonly PlannedItem[];
  readonly finds: readonly PlannedFind[];
  /** Makes the content of the target of the items, whose keys are then the names of its variables. */
  readonly template?: { readonly data: Readonly<Record<string, string>> } | undefined;
  /** The keys of all items are known without the vault. */
  readonly hasKnownKeys: boolean;
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
  readonly spec: ConnectionSpec;
}

export interface Plan {
  readonly connections: readonly PlannedConnection[];
  readonly resources: readonly PlannedResource[];
  readonly pushes: readonly PlannedPush[];
}

/** Returns the key of a connection, which resources refer to. */
export const keyOfConnection = ({ manifest, kind }: PlannedConnection): string =>
  connectionKey({ kind, name: manifest.name }, manifest.namespace);

/** Returns the key of the connection that a resource refers to. */
export const keyOfReference = ({ manifest, connection }: Pick<PlannedResource, "manifest" | "connection">): string =>
  connectionKey(connection, manifest.namespace);

const connectionRefOf = ({
  connectionRef: { kind = "VaultConnection", name },
}: VaultSecretSpec | VaultFileSpec): ConnectionRef => ({
  kind,
  name,
});

/** Returns the paths of fields that the schema does not know, and that the API server would drop or reject. */
function unknownFields(given: unknown, parsed: unknown, path: readonly PropertyKey[] = []): PropertyKey[][] {
  if (Array.isArray(given) && Array.isArray(parsed)) {
    return given.flatMap((one, index) => unknownFields(one, parsed[index], [...path, index]));
  }
  if (!isObject(given) || !isObject(parsed)) return [];
  return Object.keys(given).flatMap((name) =>
    Object.hasOwn(parsed, name) ? unknownFields(given[name], parsed[name], [...path, name]) : [[...path, name]],
  );
}

function parseSpec<T>(schema: z.ZodType<T>, manifest: Manifest, problems: Problem[]): T | undefined {
  const result = schema.safeParse(manifest.spec);
  if (!result.success) {
    for (const { path, message } of result.error.issues) {
      problems.push(problemAt(manifest, ["spec", ...path], `${formatPath(["spec", ...path])}: ${message}`));
    }
    return undefined;
  }
  for (const path of unknownFields(manifest.spec, result.data)) {
    problems.push(problemAt(manifest, ["spec", ...path], `${formatPath(["spec", ...path])}: unknown field`));
  }
  return result.data;
}

const versionOf = (version: string | number | undefined): number | undefined =>
  typeof version === "number" ? version : undefined;

function plannedSecret(manifest: Manifest, problems: Problem[]): PlannedResource | undefined {
  const spec = parseSpec(vaultSecretSpec, manifest, problems);
  if (spec === undefined) return undefined;
  const { name = manifest.name, creationPolicy } = spec.target ?? {};
  return {
    manifest,
    connection: connectionRefOf(spec),
    target: { kind: "Secret", name, isMerged: creationPolicy === "Merge" },
    template: spec.target?.template,
    hasKnownKeys: spec.dataFrom === undefined,
    items: [
      ...(spec.data ?? []).map(({ secretKey, remoteRef: { key, owner, version }, optional }, index) => ({
        key: secretKey,
        source: key,
        owner,
        isOptional: optional,
        version: versionOf(version),
        path: ["spec", "data", index, "remoteRef"],
      })),
      ...(spec.dataFrom ?? []).flatMap(({ extract }, index) => {
        if (extract === undefined) return [];
        const { key: source, owner, version } = extract;
        const path = ["spec", "dataFrom", index, "extract"];
        return [{ key: `dataFrom[${index}]`, source, owner, version: versionOf(version), path }];
      }),
    ],
    finds: (spec.dataFrom ?? []).flatMap(({ find, rewrite = [] }, index) => {
      if (find === undefined) return [];
      const path = ["spec", "dataFrom", index, "find"];
      const rule = {
        pattern: find.name?.regexp ?? "",
        metadata: find.metadata ?? {},
        rewrite: rewrite.map(({ regexp }) => regexp),
      };
      return [{ id: `dataFrom[${index}]`, ...rule, path }];
    }),
  };
}

function plannedFile(manifest: Manifest, problems: Problem[]): PlannedResource | undefined {
  const spec = parseSpec(vaultFileSpec, manifest, problems);
  if (spec === undefined) return undefined;
  const { kind, name = manifest.name, creationPolicy } = spec.target;
  return {
    manifest,
    connection: connectionRefOf(spec),
    target: { kind, name, isMerged: creationPolicy === "Merge" },
    template: spec.target.template,
    hasKnownKeys: spec.filesFrom === undefined,
    items: (spec.files ?? []).map(({ filename, key = filename, version }, index) => ({
      key,
      source: filename,
      version: versionOf(version),
      path: ["spec", "files", index],
    })),
    finds: (spec.filesFrom ?? []).map(({ find, rewrite = [] }, index) => ({
      id: `filesFrom[${index}]`,
      pattern: find.filename.regexp,
      metadata: {},
      rewrite: rewrite.map(({ regexp }) => regexp),
      path: ["spec", "filesFrom", index, "find"],
    })),
  };
}

function plannedPush(manifest: Manifest, problems: Problem[]): PlannedPush | undefined {
  const spec = parseSpec(vaultPushSpec, manifest, problems);
  if (spec === undefined) return undefined;
  return {
    manifest,
    connection: { kind: "VaultConnection", name: spec.connectionRef.name },
    secret: spec.secret.name,
    items: (spec.data ?? []).map(({ secretKey, remoteRef, file }, index) => ({
      key: secretKey,
      entry: remoteRef === undefined ? `file/${file?.filename}` : `secret/${remoteRef.key}`,
      path: ["spec", "data", index],
    })),
  };
}

/** Parses the specs. What is not valid becomes a problem and is not part of the plan. */
export function planOf(manifests: readonly Manifest[], problems: Problem[]): Plan {
  const connections: PlannedConnection[] = [];
  const resources: PlannedResource[] = [];
  const pushes: PlannedPush[] = [];
  for (const manifest of manifests) {
    if (manifest.kind === vaultConnectionKind.kind) {
      const spec = parseSpec(connectionSpec, manifest, problems);
      if (spec !== undefined) connections.push({ manifest, kind: "VaultConnection", spec });
    } else if (manifest.kind === clusterVaultConnectionKind.kind) {
      const spec = parseSpec(clusterConnectionSpec, manifest, problems);
      if (spec !== undefined) connections.push({ manifest, kind: "ClusterVaultConnection", spec });
    } else if (manifest.kind === vaultSecretKind.kind || manifest.kind === vaultFileKind.kind) {
      const parse = manifest.kind === vaultSecretKind.kind ? plannedSecret : plannedFile;
      const resource = parse(manifest, problems);
      if (resource !== undefined) resources.push(resource);
    } else if (manifest.kind === vaultPushKind.kind) {
      const push = plannedPush(manifest, problems);
      if (push !== undefined) pushes.push(push);
    } else {
      problems.push(problemAt(manifest, ["kind"], `kind: ${manifest.kind} is not a kind of vaultsync.dev`));
    }
  }
  return { connections, resources, pushes };
}
