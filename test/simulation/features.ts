import { connectionSpec, clusterConnectionSpec } from "../../src/operator/api/vault-connection.ts";
import { clusterVaultFileSpec, vaultFileSpec } from "../../src/operator/api/vault-file.ts";
import { vaultPushSpec } from "../../src/operator/api/vault-push.ts";
import { clusterVaultSecretSpec, vaultSecretSpec } from "../../src/operator/api/vault-secret.ts";
import type { Command } from "./commands.ts";
import { topologyFeatures } from "./topology-features.ts";
import { z } from "zod";

/**
 * Reports whether a value has a separate path: a choice among few, as opposed to a text or a
 * number.
 */
const isChoice = (value: unknown): boolean => typeof value === "boolean";

/**
 * Returns the paths of all fields of an object, such as `data[].optional`; names of a map are `*`,
 * see {@link schemaPaths}.
 */
export function pathsOf(value: unknown, known: ReadonlySet<string>, path = ""): Set<string> {
  const paths = new Set<string>(path === "" ? [] : [path]);
  const add = (inner: unknown, at: string): void =>
    pathsOf(inner, known, at).forEach((each) => paths.add(each));
  if (Array.isArray(value)) for (const each of value) add(each, `${path}[]`);
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      if (inner === undefined) continue;
      const field = path === "" ? name : `${path}.${name}`;
      add(inner, known.has(`${path}.*`) ? `${path}.*` : field);
    }
  } else if (isChoice(value) || known.has(`${path}=${String(value)}`))
    paths.add(`${path}=${String(value)}`);
  return paths;
}

/**
 * Returns the paths of all fields of a schema and, for a choice, the paths of its values, such as
 * `suspend=true`.
 */
export function schemaPaths(schema: z.ZodType, path = ""): Set<string> {
  const paths = new Set<string>(path === "" ? [] : [path]);
  const add = (inner: unknown, at: string): void =>
    schemaPaths(inner as z.ZodType, at).forEach((each) => paths.add(each));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) add(schema.unwrap(), path);
  else if (schema instanceof z.ZodArray) add(schema.element, `${path}[]`);
  else if (schema instanceof z.ZodRecord) add(schema.valueType, `${path}.*`);
  else if (schema instanceof z.ZodUnion) for (const option of schema.options) add(option, path);
  else if (schema instanceof z.ZodEnum)
    for (const value of schema.options) paths.add(`${path}=${value}`);
  else if (schema instanceof z.ZodLiteral)
    for (const value of schema.values) paths.add(`${path}=${String(value)}`);
  else if (schema instanceof z.ZodBoolean) paths.add(`${path}=true`);
  else if (schema instanceof z.ZodObject) {
    for (const [name, inner] of Object.entries(schema.shape))
      add(inner, path === "" ? name : `${path}.${name}`);
  }
  return paths;
}

/** The parts of an episode. Its flags follow from the seed. */
export interface Episode {
  readonly seed: number;
  readonly commands: readonly Command[];
}

/** The paths of all fields that a user can write, by kind. Choices have a path for each value. */
export const fieldsOf = {
  VaultSecret: schemaPaths(vaultSecretSpec),
  VaultFile: schemaPaths(vaultFileSpec),
  ClusterVaultSecret: schemaPaths(clusterVaultSecretSpec),
  ClusterVaultFile: schemaPaths(clusterVaultFileSpec),
  VaultConnection: schemaPaths(connectionSpec),
  ClusterVaultConnection: schemaPaths(clusterConnectionSpec),
  VaultPush: schemaPaths(vaultPushSpec),
} as const;
type SpecKind = keyof typeof fieldsOf;

type FanOutPut = Extract<Command, { type: "fan-out"; how: "put" }>;
const isFanOutPut = (command: Command): command is FanOutPut =>
  command.type === "fan-out" && command.how === "put";

/** Returns the kind and the spec that a command writes. */
function writtenSpec(
  command: Command,
): { readonly kind: SpecKind; readonly spec: object } | undefined {
  if (command.type === "put" || isFanOutPut(command)) return command;
  if (command.type === "push" && command.how === "put")
    return { kind: "VaultPush", spec: command.spec };
  return command.type === "put-cluster-connection"
    ? { kind: "ClusterVaultConnection", spec: command.spec }
    : undefined;
}

const NONE: ReadonlySet<string> = new Set();
const fields = new WeakMap<Command, ReadonlySet<string>>();

/** Returns the fields that a command writes, each with its kind: `VaultFile files[].key`. */
export function fieldsIn(command: Command): ReadonlySet<string> {
  const written = writtenSpec(command);
  if (written === undefined) return NONE;
  const known = fields.get(command);
  if (known) return known;
  const { kind, spec } = written;
  const all = new Set([...pathsOf(spec, fieldsOf[kind])].map((path) => `${kind} ${path}`));
  fields.set(command, all);
  return all;
}

type ForCommand = (command: Command, fields: ReadonlySet<string>) => boolean;

const isTyped = (type: string): ForCommand => {
  return (command) =>
    (command.type === "put" || isFanOutPut(command)) &&
    (command.spec as { target?: { type?: string } }).target?.type === type;
};
const SECRETS = ["VaultSecret", "ClusterVaultSecret"] as const;
const FILES = ["VaultFile", "ClusterVaultFile"] as const;
const fieldOf = (kinds: readonly SpecKind[], ...paths: readonly string[]): ForCommand => {
  return (_, present) => kinds.some((kind) => paths.some((path) => present.has(`${kind} ${path}`)));
};
/** Reports a field of a resource with a target. */
const field = (path: string): ForCommand => fieldOf([...SECRETS, ...FILES], path);
const fanOut = (kind: SpecKind): ForCommand => {
  return (one) => isFanOutPut(one) && one.kind === kind;
};
const fanOutField = (path: string): ForCommand =>
  fieldOf(["ClusterVaultSecret", "ClusterVaultFile"], path);
const connectionField = (path: string): ForCommand => {
  return (_, present) =>
    present.has(`VaultConnection ${path}`) || present.has(`ClusterVaultConnection ${path}`);
};
const command = (...types: readonly Command["type"][]): ForCommand => {
  return ({ type }) => types.includes(type);
};
const annotation = (name: string): ForCommand => {
  return (one) =>
    (one.type === "annotate" || (one.type === "fan-out" && one.how === "annotate")) &&
    Object.hasOwn(one.annotations, `vaultsync.dev/${name}`);
};

/** Features of the spec of one resource with a target: a pair of them counts if one spec has both. */
export const specFeatures: Readonly<Record<string, ForCommand>> = {
  VaultSecret: (one) => one.type === "put" && one.kind === "VaultSecret",
  VaultFile: (one) => one.type === "put" && one.kind === "VaultFile",
  "target ConfigMap": field("target.kind=ConfigMap"),
  ClusterVaultConnection: field("connectionRef.kind=ClusterVaultConnection"),
  Orphan: field("target.creationPolicy=Orphan"),
  Merge: field("target.creationPolicy=Merge"),
  immutable: field("target.immutable=true"),
  "whenRemoved: Retain": field("target.whenRemoved=Retain"),
  "whenMissing: Delete": field("target.whenMissing=Delete"),
  refreshInterval: field("refreshInterval"),
  expiryNotice: field("expiryNotice"),
  "approval: Required": field("updates.approval=Required"),
  windows: field("updates.windows[]"),
  template: field("target.template"),
  "basic-auth": isTyped("kubernetes.io/basic-auth"),
  tls: isTyped("kubernetes.io/tls"),
  dockerconfigjson: isTyped("kubernetes.io/dockerconfigjson"),
  labels: field("target.labels.*"),
  annotations: field("target.annotations.*"),
  "target.name": field("target.name"),
  data: field("data"),
  files: field("files"),
  extract: field("dataFrom[].extract"),
  "find by name": (...one) =>
    fieldOf(SECRETS, "dataFrom[].find.name")(...one) ||
    fieldOf(FILES, "filesFrom[].find.filename")(...one),
  "find by metadata": field("dataFrom[].find.metadata"),
  rewrite: (...one) =>
    fieldOf(SECRETS, "dataFrom[].rewrite")(...one) || fieldOf(FILES, "filesFrom[].rewrite")(...one),
  property: field("data[].remoteRef.property"),
  decoding: fieldOf(
    SECRETS,
    "data[].remoteRef.decoding=Base64",
    "data[].remoteRef.decoding=Base64URL",
  ),
  optional: field("data[].optional=true"),
  validate: fieldOf(
    [...SECRETS, ...FILES],
    "data[].validate",
    "files[].validate",
    "target.validate",
  ),
  version: (...one) =>
    fieldOf(SECRETS, "data[].remoteRef.version")(...one) ||
    fieldOf(FILES, "files[].version")(...one),
  owner: field("data[].remoteRef.owner"),
  suspend: field("suspend=true"),
  rolloutRestart: field("rolloutRestart[]"),
  "windows of restarts": field("rolloutRestart[].windows[]"),
  ClusterVaultSecret: fanOut("ClusterVaultSecret"),
  ClusterVaultFile: fanOut("ClusterVaultFile"),
  namespaces: fanOutField("namespaces[]"),
  namespaceSelector: fanOutField("namespaceSelector"),
};

/** Other features: a pair with one of them counts if one episode has both. */
const commandFeatures: Readonly<Record<string, ForCommand>> = {
  "follow: Interval": connectionField("follow=Interval"),
  "scope: onlyReferenced": connectionField("scope.onlyReferenced=true"),
  "scope: names": connectionField("scope.secretName"),
  "scope: metadata": connectionField("scope.environmentType"),
  trustedOwners: connectionField("trustedOwners"),
  "receive: Anyone": connectionField("receive=Anyone"),
  requestsPerSecond: connectionField("requestsPerSecond"),
  caBundleRef: connectionField("caBundleRef"),
  reportUse: connectionField("reportUse=true"),
  delete_time: (one) => one.type === "write-secret" && one.minutes !== undefined,
  "metadata in the vault": (one) => one.type === "write-secret" && one.metadata !== undefined,
  "removed entries": command("remove-entry", "unshare"),
  "many removed entries": command("vanish"),
  "removed versions": command("remove-version"),
  "restored backup": command("restore"),
  "force-sync": annotation("force-sync"),
  accept: annotation("accept"),
  hold: annotation("hold"),
  approve: (one) => one.type === "approve" || (one.type === "fan-out" && one.how === "approve"),
  freeze: command("freeze"),
  "freeze of a namespace": command("freeze-namespace"),
  adopt: annotation("adopt"),
  "confirm-removals": command("confirm-removals"),
  "deleted resource": (one) =>
    one.type === "delete" || (one.type === "fan-out" && one.how === "delete"),
  "deleted target": command("delete-target"),
  "changed target": command("tamper"),
  "objects of others": command("add-foreign"),
  "faults of the API server": command("api-fault"),
  "faults of a vault": command("vault-fault"),
  "silent watches": command("silence-watches"),
  "lost watches": command("drop-watches", "compact"),
  "crashed replicas": command("crash", "stop"),
  "suspended replicas": command("suspend"),
  "two leaders": command("delete-lease"),
  "wrong clocks": command("skew"),
  "broken connections": command("break-connection"),
  "removed statuses": command("wipe-statuses"),
  VaultPush: command("push"),
  "deleted VaultPush": (one) => one.type === "push" && one.how === "delete",
  "wrong passwords": command("vault-password", "login-password"),
};

/**
 * Features of an episode as a whole, such as the flags of the operator: a pair with one of them
 * counts if one episode has both.
 */
export const episodeFeatures: Readonly<Record<string, (episode: Episode) => boolean>> = {
  ...Object.fromEntries(
    Object.entries(commandFeatures).map(([name, isIn]) => [
      name,
      ({ commands }: Episode) => commands.some((one) => isIn(one, fieldsIn(one))),
    ]),
  ),
  ...topologyFeatures,
};
