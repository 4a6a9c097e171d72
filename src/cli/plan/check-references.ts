import { versionListForLink } from "../../protocol/operations/version-list-for-link.ts";
import { versionList } from "../../protocol/operations/version-list.ts";
import { listFile } from "../../protocol/operations/list-file.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import type { FileRecord, SecretRecord } from "../../protocol/responses.ts";
import { isTrusted, isUntrusted, trustOf } from "../../operator/api/received-secrets.ts";
import type { AccountClient } from "../account/account-client.ts";
import { listSecrets } from "../account/find-secret.ts";
import { type Problem, problemAt } from "../manifests/manifests.ts";
import { findEntries } from "./find-entries.ts";
import {
  keyOfConnection,
  keyOfReference,
  type Plan,
  type PlannedConnection,
  type PlannedItem,
  type PlannedResource,
} from "./planned-resource.ts";

/** Result of the comparison with the vault. */
export interface CheckedReferences {
  readonly problems: readonly Problem[];
  /** The entries that the rules of each resource find; `undefined` if the vault was not asked. */
  readonly found: ReadonlyMap<PlannedResource, readonly PlannedItem[]>;
  /** The version that each item would have now. */
  readonly versions: ReadonlyMap<PlannedItem, number>;
  /** Connections whose references were not compared, because the login is for another vault or account. */
  readonly unchecked: readonly PlannedConnection[];
}

/** The version of an item, or what is wrong with its reference. */
type Found = { readonly version: number } | { readonly problem: string; readonly isAbsent?: boolean };

const quoted = (name: string): string => JSON.stringify(name);

async function findSecretVersion(
  client: AccountClient,
  secrets: readonly SecretRecord[],
  item: PlannedItem,
  { spec }: PlannedConnection,
): Promise<Found> {
  const all = secrets.filter(({ key_name }) => key_name === item.source);
  const named = all.filter((record) => !isUntrusted(record, { owner: item.owner, foundBy: undefined }, trustOf(spec)));
  if (named.length === 0 && all.length > 0 && item.owner === undefined) {
    const owners = all.map(({ owner }) => owner).join(", ");
    return {
      problem: `secret ${quoted(item.source)} is shared by ${owners}: set owner, or spec.trustedOwners of the connection`,
    };
  }
  const own = named.filter(({ owner }) => owner === canonicalEmail(item.owner ?? client.email));
  const [record, other] = own.length > 0 || item.owner !== undefined ? own : named;
  if (record === undefined)
    return { problem: `no secret ${quoted(item.source)}${item.owner === undefined ? "" : ` of ${item.owner}`}`, isAbsent: true };
  if (other !== undefined)
    return {
      problem: `several users share a secret ${quoted(item.source)}: set owner (${named.map(({ owner }) => owner).join(", ")})`,
    };
  if (item.version === undefined || item.version === record.key_version) return { version: record.key_version };
  const { key_name, owner, shared } = record;
  const { versions } = await (shared
    ? client.call(versionListForLink, { key_name, owner })
    : client.call(versionList, { key_name }));
  if (versions.some(({ key_version }) => key_version === item.version)) return { version: item.version };
  return { problem: `secret ${quoted(item.source)} has no version ${item.version}: the latest is ${record.key_version}` };
}

function findFileVersion(files: readonly FileRecord[], item: PlannedItem): Found {
  const record = files.find(({ filename }) => filename === item.source);
  if (record === undefined) return { problem: `no file ${quoted(item.source)}` };
  const version = item.version ?? record.version;
  if (record.versions.some((one) => one.version === version)) return { version };
  return { problem: `file ${quoted(item.source)} has no version ${version}: the latest is ${record.version}` };
}

/** Returns the entries that the rules of a resource may find: secrets of the account, and of creators whom the connection names. */
const trustedOf = (secrets: readonly SecretRecord[], { spec }: PlannedConnection): readonly SecretRecord[] =>
  secrets.filter((record) => isTrusted(record, trustOf(spec)));

const isOfLogin = (client: AccountClient, { spec }: PlannedConnection): boolean =>
  spec.url.replace(/\/+$/u, "") === client.url && canonicalEmail(spec.email) === canonicalEmail(client.email);

/** Compares the references with the lists of the vault, as the account of the login sees them. Reads no value. */
export async function checkReferences(client: AccountClient, { connections, resources }: Plan): Promise<CheckedReferences> {
  const checked = connections.filter((connection) => isOfLogin(client, connection));
  const byKey = new Map(checked.map((connection) => [keyOfConnection(connection), connection]));
  const included = resources.filter((resource) => byKey.has(keyOfReference(resource)));
  const secrets = included.some(isSecret) ? await listSecrets(client) : [];
  const files = included.every(isSecret) ? [] : (await client.call(listFile, {})).files;
  const problems: Problem[] = [];
  const versions = new Map<PlannedItem, number>();
  const found = new Map<PlannedResource, readonly PlannedItem[]>();
  for (const resource of included) {
    const connection = byKey.get(keyOfReference(resource));
    if (connection === undefined) continue;
    const trusted = trustedOf(secrets, connection);
    const entries = findEntries(resource, isSecret(resource) ? trusted : files, isSecret(resource) ? secrets : files);
    found.set(resource, entries.items);
    for (const { path, problem } of entries.problems) problems.push(problemAt(resource.manifest, path, problem));
    for (const item of [...resource.items, ...entries.items]) {
      const listed = resource.items.includes(item) ? secrets : trusted;
      const version = isSecret(resource)
        ? await findSecretVersion(client, listed, item, connection)
        : findFileVersion(files, item);
      if ("version" in version) versions.set(item, version.version);
      else if (item.isOptional !== true || !version.isAbsent)
        problems.push(problemAt(resource.manifest, item.path, version.problem));
    }
  }
  return { problems, found, versions, unchecked: connections.filter((connection) => !checked.includes(connection)) };
}

const isSecret = ({ manifest }: PlannedResource): boolean => manifest.kind === "VaultSecret";
