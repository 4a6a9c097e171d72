import type { ExposedSecret, ListedShare, Permission, SecretRecord, UnshareRecord } from "../../protocol/responses.ts";
import type { Metadata } from "../../protocol/metadata.ts";
import { isExposedSecret, isListedShare, isSecretRecord, isUnshareRecord } from "./responses.ts";
import { isObject, listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";

const oneSecret = shape<{ secret: SecretRecord }>({ secret: isSecretRecord });
const secretList = shape<{ secrets: readonly SecretRecord[] }>({ secrets: listOf(isSecretRecord) });
const versionList = shape<{ versions: readonly SecretRecord[] }>({ versions: listOf(isSecretRecord) });

/** Fields that select the operation for a secret (docs/design/vault-contract.md#families-of-operations). */
export type SecretAccess = Pick<SecretRecord, "key_name" | "owner" | "shared">;

/** A new secret. `delete_time` is in minutes. */
export interface NewSecret {
  readonly key_name: string;
  readonly key_value: string;
  readonly metadata: Metadata;
  readonly delete_time?: number;
}

/** `to` is the email address of a user or the name of a team. */
export type Grantee = Pick<ListedShare, "kind" | "to">;

function addressed(grantee: Grantee): object {
  return grantee.kind === "person" ? { usr_id_to: [grantee.to] } : { group_id_to: grantee.to };
}

export async function listSecrets(client: VaultClient): Promise<readonly SecretRecord[]> {
  return (await client.call("list_no_dup", {}, secretList)).secrets;
}

/** Returns all versions, the newest first. */
export async function listVersions(
  client: VaultClient,
  { key_name, owner, shared }: SecretAccess,
): Promise<readonly SecretRecord[]> {
  const response = shared
    ? client.call("version_list_for_link", { key_name, owner }, versionList)
    : client.call("version_list", { key_name }, versionList);
  return (await response).versions.toReversed();
}

/** Fetches the value of one version. */
export async function exposeVersion(
  client: VaultClient,
  { key_name, owner, shared }: SecretAccess,
  version: number,
): Promise<ExposedSecret> {
  return shared
    ? client.call("version_expose_link", { key_name, owner, key_version: version }, isExposedSecret)
    : client.call("version_expose", { key_name, key_version: version }, isExposedSecret);
}

export async function createSecret(client: VaultClient, secret: NewSecret): Promise<SecretRecord> {
  return (await client.call("protect", secret, oneSecret)).secret;
}

export async function addVersion(
  client: VaultClient,
  { key_name, owner, shared }: SecretAccess,
  value: string,
): Promise<SecretRecord> {
  const response = shared
    ? client.call("protect_link", { key_name, owner, key_value: value, without_list: 1 }, oneSecret)
    : client.call("protect", { key_name, key_value: value }, oneSecret);
  return (await response).secret;
}

export async function updateMetadata(client: VaultClient, secret: SecretRecord, metadata: Metadata): Promise<void> {
  const { key_name, key_version, owner } = secret;
  await client.call("update_key_metadata", { key_name, key_version, owner, metadata }, oneSecret);
}

export async function deleteSecret(client: VaultClient, name: string): Promise<void> {
  await client.call("delete", { key_name: [name] }, isObject);
}

export async function deleteVersion(client: VaultClient, name: string, version: number): Promise<void> {
  await client.call("version_delete", { key_name: name, key_version: version }, isObject);
}

const unshared = shape<{ unshared: readonly UnshareRecord[] }>({ unshared: listOf(isUnshareRecord) });

const shareList = shape<{ shares: readonly ListedShare[] }>({ shares: listOf(isListedShare) });

/** Returns the recipients of an own secret: users, then teams. */
export async function listShares(client: VaultClient, name: string): Promise<readonly ListedShare[]> {
  return (await client.call("share_list", { key_name: name }, shareList)).shares;
}

/** Shares a secret, or changes the permission of an existing share. */
export async function shareSecret(client: VaultClient, name: string, grantee: Grantee, permission: Permission): Promise<void> {
  const body = { key_name: [name], usr_id_from: client.email, permission, ...addressed(grantee) };
  await client.call("share", body, isObject);
}

/** Stops sharing a secret with one recipient, or with all recipients. */
export async function unshareSecret(client: VaultClient, name: string, grantee?: Grantee): Promise<readonly UnshareRecord[]> {
  const body = { key_name: [name], usr_id_from: client.email, ...(grantee && addressed(grantee)) };
  return (await client.call("unshare", body, unshared)).unshared;
}

/** Removes a received secret from the user's own list. */
export async function leaveSecret(client: VaultClient, { key_name, owner }: SecretAccess): Promise<void> {
  await client.call("delete_shared_key_link", { key_name, owner }, isObject);
}
