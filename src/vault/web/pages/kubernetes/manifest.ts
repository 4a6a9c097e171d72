type Scalar = string | number;
type Node = Scalar | readonly Node[] | { readonly [name: string]: Node };

/** A text that YAML 1.1 and 1.2 read as this text without quotation marks. */
const PLAIN = /^(?!(?:true|false|yes|no|on|off|null|y|n)$)[a-z][\w./-]*$/iu;
/** Characters that JSON keeps and YAML does not allow, or reads as line ends. */
const UNPRINTABLE = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu;

function scalarText(value: Scalar): string {
  if (typeof value === "number" || PLAIN.test(value)) return String(value);
  return JSON.stringify(value).replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isScalar(node: Node): node is Scalar {
  return typeof node !== "object";
}

function isList(node: Node): node is readonly Node[] {
  return Array.isArray(node);
}

function linesOf(node: Node): string[] {
  if (isScalar(node)) return [scalarText(node)];
  if (isList(node)) {
    return node.flatMap((entry) =>
      linesOf(entry).map((line, at) => `${at === 0 ? "- " : "  "}${line}`),
    );
  }
  return Object.entries(node).flatMap(([name, value]) => {
    if (isScalar(value)) return [`${name}: ${scalarText(value)}`];
    return [`${name}:`, ...linesOf(value).map((line) => `  ${line}`)];
  });
}

/** Formats an object as a YAML document. Names of members need no quotation marks. */
function yamlText(document: { readonly [name: string]: Node }): string {
  return `${linesOf(document).join("\n")}\n`;
}

const API_VERSION = "vaultsync.dev/v1alpha1";

/** Longest name of a resource that is proposed. */
const MAX_NAME = 63;
/** Largest number of entries of one VaultSecret. */
export const MAX_ENTRIES = 256;
const DNS_NAME = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/u;

/** Reports whether Kubernetes accepts the name of an object, or of a namespace. */
export function isObjectName(name: string): boolean {
  return name.length <= 253 && DNS_NAME.test(name);
}

/** Reports whether an operator accepts the base URL of a vault. */
export function isVaultUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/u.test(text) && !/\/v1\/?$/u.test(text);
}

/** Returns a name of an object for a name in the vault: `shop-db` for `prod/Shop DB`. */
export function objectNameOf(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  const text = last
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .slice(0, MAX_NAME)
    .replaceAll(/^-+|-+$/gu, "");
  return text === "" ? "vault" : text;
}

/** Returns a key of a Secret or ConfigMap for a name in the vault. */
export function objectKeyOf(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  const text = last.replaceAll(/[^-\w.]/gu, "_").slice(0, 253);
  return /^[.]?[-\w]/u.test(text) ? text : `value${text}`;
}

/** Returns each key once: repeated ones get a number. */
function distinct(keys: readonly string[]): string[] {
  const used = new Set<string>();
  return keys.map((key) => {
    let free = key;
    for (let number = 2; used.has(free); number += 1) free = `${key.slice(0, 240)}-${number}`;
    used.add(free);
    return free;
  });
}

/** A version of a secret or file to sync. */
type SyncedVersion = "latest" | number;

/** Names of a resource, of its namespace and of its connection. */
export interface Placement {
  /** Name of the resource, and of the target. */
  readonly name: string;
  readonly namespace: string;
  /** Name of the VaultConnection in this namespace. */
  readonly connection: string;
}

export interface SyncedSecret {
  readonly key_name: string;
  readonly owner: string;
  readonly version: SyncedVersion;
  /** JSON Pointers to the parts of the value; empty for the whole value. */
  readonly properties: readonly string[];
}

/** Returns the last part of a JSON Pointer, without its escapes. */
function lastOf(pointer: string): string {
  const token = pointer.slice(pointer.lastIndexOf("/") + 1);
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Returns a VaultSecret with these secrets, at most 256 entries. */
export function vaultSecretManifest(
  { name, namespace, connection }: Placement,
  secrets: readonly SyncedSecret[],
): string {
  const entries = secrets.flatMap(({ key_name: key, owner, version, properties }) => {
    const remoteRef = { key, owner, ...(version !== "latest" && { version }) };
    if (properties.length === 0) return [{ name: key, remoteRef }];
    return properties.map((property) => ({
      name: lastOf(property).replaceAll("/", "_"),
      remoteRef: { ...remoteRef, property },
    }));
  });
  const keys = distinct(entries.map((entry) => objectKeyOf(entry.name)));
  return yamlText({
    apiVersion: API_VERSION,
    kind: "VaultSecret",
    metadata: { name, namespace },
    spec: {
      connectionRef: { name: connection },
      data: entries.map(({ remoteRef }, at) => ({ secretKey: keys[at] ?? "", remoteRef })),
    },
  });
}

export type FileTarget = "ConfigMap" | "Secret";

/** Returns a VaultFile with this file. */
export function vaultFileManifest(
  { name, namespace, connection }: Placement,
  filename: string,
  { version, kind }: { readonly version: SyncedVersion; readonly kind: FileTarget },
): string {
  const key = objectKeyOf(filename);
  const file = {
    filename,
    ...(version !== "latest" && { version }),
    ...(key !== filename && { key }),
  };
  return yamlText({
    apiVersion: API_VERSION,
    kind: "VaultFile",
    metadata: { name, namespace },
    spec: { connectionRef: { name: connection }, files: [file], target: { kind } },
  });
}

/** A connection of a namespace to this vault, with a pair of tokens. */
export interface NewConnection {
  readonly name: string;
  readonly namespace: string;
  readonly url: string;
  readonly email: string;
}

/** Returns the name of the Secret with the tokens of a connection. */
export function credentialsOf(connection: string): string {
  return `${connection.slice(0, 240)}-credentials`;
}

/** Returns a VaultConnection that reads its tokens from a Secret. */
export function connectionManifest({ name, namespace, url, email }: NewConnection): string {
  return yamlText({
    apiVersion: API_VERSION,
    kind: "VaultConnection",
    metadata: { name, namespace },
    spec: { url, email, auth: { tokenSecretRef: { name: credentialsOf(name) } } },
  });
}

/**
 * Returns shell commands that create a connection with its Secret. They read the tokens from the
 * terminal, without showing them: these are in no command line and in no history.
 */
export function connectionCommand(connection: NewConnection): string {
  const { name, namespace } = connection;
  const secret =
    `kubectl create secret generic ${credentialsOf(name)} --namespace ${namespace} ` +
    "--type vaultsync.dev/credentials --from-env-file /dev/stdin";
  return [
    `stty -echo; ${secret}; stty echo`,
    "kubectl apply -f - <<'EOF'",
    `${connectionManifest(connection)}EOF`,
    "",
  ].join("\n");
}

/** Returns the lines that the command reads from the terminal. */
export function credentialLines(access: string, refresh: string): string {
  return `access_token=${access}\nrefresh_token=${refresh}\n`;
}
