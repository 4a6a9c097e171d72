import { z } from "zod";

const API_VERSION = "vaultsync.dev/v1alpha1";

/** The conditions of a status. */
export const conditions = z
  .array(
    z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() }),
  )
  .default([]);

export const observedObject = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  data: z.record(z.string(), z.string()).default({}),
  binaryData: z.record(z.string(), z.string()).default({}),
  status: z.looseObject({ conditions }).optional(),
});
export type ObservedObject = z.output<typeof observedObject>;

export function condition(object: ObservedObject, type: string) {
  return object.status?.conditions.find((one) => one.type === type);
}

export function bytesOf(object: ObservedObject, key: string): Buffer | undefined {
  const encoded = object.data[key];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64");
}

/** Reports whether a resource is Ready. */
export const isReady = (object: ObservedObject): boolean =>
  condition(object, "Ready")?.status === "True";

/**
 * Reports whether a resource has this reason, with a message that matches, in Ready or while it
 * retries.
 */
export function reports({ status }: ObservedObject, reason: string, message = /./): boolean {
  const failures = status?.conditions.filter(
    (one) => one.type === "Reconciling" || (one.type === "Ready" && one.status === "False"),
  );
  return failures?.some((one) => one.reason === reason && message.test(one.message)) ?? false;
}

/** The kinds of a namespace that the operator serves. */
export const ownKinds = ["VaultConnection", "VaultSecret", "VaultFile", "VaultPush"];

/** Returns the path of the objects of a kind in a namespace. */
export function collection(kind: string, namespace: string): string {
  const plural = kind === "VaultPush" ? "vaultpushes" : `${kind.toLowerCase()}s`;
  return ownKinds.includes(kind)
    ? `/apis/vaultsync.dev/v1alpha1/namespaces/${namespace}/${plural}`
    : `/api/v1/namespaces/${namespace}/${plural}`;
}

/**
 * The Secret `<name>-login` with the password of an account, and a VaultConnection named `name`
 * that uses it, with these fields.
 */
export function vaultConnection(
  name: string,
  { password, ...spec }: { readonly password: string; readonly [field: string]: unknown },
) {
  const login = `${name}-login`;
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: login },
      type: "vaultsync.dev/credentials",
      stringData: { password },
    },
    {
      apiVersion: API_VERSION,
      kind: "VaultConnection",
      metadata: { name },
      spec: { auth: { passwordSecretRef: { name: login } }, ...spec },
    },
  ] as const;
}

/**
 * A VaultSecret named `name` that reads the secrets of `keys`, each under a separate key, through
 * this connection.
 */
export function secretThrough(
  connection: string,
  name: string,
  keys: Readonly<Record<string, string | object>>,
  target?: object,
) {
  return {
    apiVersion: API_VERSION,
    kind: "VaultSecret",
    metadata: { name },
    spec: {
      connectionRef: { name: connection },
      data: Object.entries(keys).map(([secretKey, ref]) => ({
        secretKey,
        remoteRef: typeof ref === "string" ? { key: ref } : ref,
      })),
      ...(target && { target }),
    },
  };
}

/** A VaultSecret as {@link secretThrough} returns it, through the connection `vault`. */
export const vaultSecret = (
  name: string,
  keys: Readonly<Record<string, string | object>>,
  target?: object,
) => secretThrough("vault", name, keys, target);

/**
 * A ClusterVaultSecret or ClusterVaultFile that reads the entries of `keys`, each under a separate
 * key, through this ClusterVaultConnection, for the namespaces with the label `team=shop`.
 */
export function fannedOut(
  kind: "ClusterVaultSecret" | "ClusterVaultFile",
  name: string,
  connection: string,
  keys: Readonly<Record<string, string>>,
  more: object = {},
) {
  const entries = Object.entries(keys);
  const spec =
    kind === "ClusterVaultSecret"
      ? { data: entries.map(([secretKey, key]) => ({ secretKey, remoteRef: { key } })) }
      : {
          files: entries.map(([key, filename]) => ({ key, filename })),
          target: { kind: "ConfigMap" },
        };
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { name },
    spec: {
      connectionRef: { kind: "ClusterVaultConnection", name: connection },
      namespaceSelector: { matchLabels: { team: "shop" } },
      ...spec,
      ...more,
    },
  };
}

/** A VaultPush named `name` of the Secret of that name, whose keys are pushed as `data` says. */
export function vaultPush(name: string, data: readonly object[], more: object = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: "VaultPush",
    metadata: { name },
    spec: {
      connectionRef: { name: "vault" },
      secret: { name },
      refreshInterval: "5s",
      data,
      ...more,
    },
  };
}

export function vaultFile(name: string, files: readonly object[], target: object): object {
  return {
    apiVersion: API_VERSION,
    kind: "VaultFile",
    metadata: { name },
    spec: { connectionRef: { name: "vault" }, files, target },
  };
}
