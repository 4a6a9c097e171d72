import type {
  ExposedSecret,
  ListedShare,
  Permission,
  SecretRecord,
  UnshareRecord,
  VersionRecord,
  TrashedRecord,
} from "../../../protocol/responses.ts";
import type { Metadata } from "../../../protocol/metadata.ts";
import { toRequestError } from "./request-error.ts";
import {
  isDeletion,
  isExposedSecret,
  isListedShare,
  isSecretRecord,
  isUnshareRecord,
  isVersionRecord,
} from "./responses.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";
import { isObject } from "../../../lib/is-object.ts";

const oneSecret = shape<{ secret: SecretRecord }>({ secret: isSecretRecord });
const secretList = shape<{ secrets: readonly SecretRecord[] }>({ secrets: listOf(isSecretRecord) });
const versionList = shape<{ versions: readonly VersionRecord[] }>({
  versions: listOf(isVersionRecord),
});

/**
 * Fields that select the operation for a secret
 * (docs/design/vault-contract.md#families-of-operations).
 */
export type SecretAccess = Pick<SecretRecord, "key_name" | "owner" | "shared">;

/** A new secret. `delete_time` is in minutes. */
export interface NewSecret {
  readonly key_name: string;
  readonly key_value: string;
  readonly metadata: Metadata;
  readonly delete_time?: number;
}

/** Changes of one version's metadata. */
export interface MetadataChanges {
  readonly metadata: Metadata;
  /** Custom names to remove. */
  readonly removed: readonly string[];
}

/** `to` is the email address of a user or the name of a team. */
export type Grantee = Pick<ListedShare, "kind" | "to">;

function addressed(grantee: Grantee): object {
  return grantee.kind === "person" ? { usr_id_to: [grantee.to] } : { group_id_to: grantee.to };
}

export async function listSecrets(client: VaultClient): Promise<readonly SecretRecord[]> {
  return (await client.list("list_no_dup", secretList)).secrets;
}

/**
 * Sends the operation of the family that the secret belongs to. When an own secret was shared or
 * unshared since it was loaded, the vault names the other family, and the request then goes to it
 * (docs/design/vault-contract.md#families-of-operations).
 */
async function inFamily<T>(
  { shared }: Pick<SecretAccess, "shared">,
  send: (shared: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await send(shared);
  } catch (error) {
    if (toRequestError(error).code !== (shared ? "use_unshared_operation" : "use_link_operation"))
      throw error;
    return send(!shared);
  }
}

/**
 * Returns all versions of a secret, the newest first; there is at least one.
 * @throws RequestError `secret_not_found`; `forbidden` for a user who may only write
 */
export async function listVersions(
  client: VaultClient,
  { owner, key_name: name, shared: expected }: SecretAccess,
): Promise<readonly VersionRecord[]> {
  const { versions } = await inFamily({ shared: expected }, (shared) =>
    shared
      ? client.call("version_list_for_link", { key_name: name, owner }, versionList)
      : client.call("version_list", { key_name: name }, versionList),
  );
  return versions.toReversed();
}

/** Fetches the value of one version. */
export async function exposeVersion(
  client: VaultClient,
  access: SecretAccess,
  version: number,
): Promise<ExposedSecret> {
  const { key_name, owner } = access;
  return inFamily(access, (shared) =>
    shared
      ? client.call(
          "version_expose_link",
          { key_name, owner, key_version: version },
          isExposedSecret,
        )
      : client.call("version_expose", { key_name, key_version: version }, isExposedSecret),
  );
}

/**
 * Fetches the value of the version that is the latest now. It may be newer than a list that was
 * loaded before.
 */
export async function exposeLatest(
  client: VaultClient,
  access: SecretAccess,
): Promise<ExposedSecret> {
  const { key_name, owner } = access;
  return inFamily(access, (shared) =>
    shared
      ? client.call("expose_link", { key_name, owner }, isExposedSecret)
      : client.call("expose", { key_name }, isExposedSecret),
  );
}

/**
 * @throws RequestError `version_changed` or `use_link_operation` when the user has a secret of this
 * name
 */
export async function createSecret(client: VaultClient, secret: NewSecret): Promise<SecretRecord> {
  return (await client.call("protect", { ...secret, expected_version: 0 }, oneSecret)).secret;
}

/**
 * Adds a version after the version `expected`, the latest that the user has seen; after any one
 * without it.
 * @throws RequestError `version_changed`, `secret_not_found`; nothing is stored then
 */
export async function addVersion(
  client: VaultClient,
  access: SecretAccess,
  value: string,
  expected?: number,
): Promise<SecretRecord> {
  const { key_name, owner } = access;
  const version = { key_name, key_value: value, expected_version: expected };
  const { secret } = await inFamily(access, (shared) =>
    shared
      ? client.call("protect_link", { ...version, owner, without_list: 1 }, oneSecret)
      : client.call("protect", version, oneSecret),
  );
  return secret;
}

/**
 * Changes metadata of the latest version. @throws RequestError `version_changed` when there is a
 * newer one; nothing is stored then
 */
export async function updateMetadata(
  client: VaultClient,
  { key_name, key_version, owner }: SecretRecord,
  { metadata, removed }: MetadataChanges,
): Promise<void> {
  const changes = { metadata, ...(removed.length > 0 && { remove_metadata: removed }) };
  await client.call(
    "update_key_metadata",
    { key_name, key_version, owner, expected_version: key_version, ...changes },
    oneSecret,
  );
}

/** Sets the removal of an own secret, in minutes from when the request is sent. */
export async function scheduleRemoval(
  client: VaultClient,
  { key_name, key_version, owner }: SecretRecord,
  minutes: () => number,
): Promise<void> {
  await client.callNow(
    "update_key_metadata",
    () => ({ key_name, key_version, owner, delete_time: minutes() }),
    oneSecret,
  );
}

/**
 * Deletes own secrets: all of them, or none. Returns their entries in the trash. @throws RequestError
 * `version_changed` when one has another latest version, or another secret has its name by now
 */
export async function deleteSecrets(
  client: VaultClient,
  secrets: readonly Pick<SecretRecord, "key_name" | "key_version">[],
  permanently: boolean,
): Promise<readonly TrashedRecord[]> {
  const body = {
    key_name: secrets.map(({ key_name: name }) => name),
    expected_versions: secrets.map(({ key_version: version }) => version),
    permanently,
  };
  return (await client.call("delete", body, isDeletion)).trash ?? [];
}

/**
 * Gives an own secret another name. @throws RequestError `name_taken`, `version_changed`; nothing is
 * changed then
 */
export async function renameSecret(
  client: VaultClient,
  { key_name, key_version }: SecretRecord,
  name: string,
): Promise<SecretRecord> {
  const body = { key_name, new_name: name, expected_version: key_version };
  return (await client.call("rename", body, oneSecret)).secret;
}

/**
 * Deletes one version of a secret whose latest version is `latest`. @throws RequestError
 * `version_changed`, also when another secret has the name by now; nothing is deleted then
 */
export async function deleteVersion(
  client: VaultClient,
  latest: Pick<SecretRecord, "key_name" | "key_version">,
  version: number,
): Promise<void> {
  const { key_name, key_version: expected } = latest;
  const body = { key_name, key_version: version, expected_version: expected };
  await client.call("version_delete", body, isObject);
}

const unshared = shape<{ unshared: readonly UnshareRecord[] }>({
  unshared: listOf(isUnshareRecord),
});

const shareList = shape<{ shares: readonly ListedShare[] }>({ shares: listOf(isListedShare) });

/** Returns the recipients of an own secret: users, then teams. */
export async function listShares(
  client: VaultClient,
  name: string,
): Promise<readonly ListedShare[]> {
  return (await client.call("share_list", { key_name: name }, shareList)).shares;
}

/** Recipients of one request: one team, or users by email address. */
export type Recipients =
  | {
      readonly kind: "team";
      readonly to: string;
      /** Creator that the page shows: nothing is shared with a team of another one. */
      readonly creator: string | undefined;
    }
  | { readonly kind: "people"; readonly to: readonly string[] };

/**
 * Shares secrets, or changes the permission of existing shares: all of them with all recipients, or none.
 * @throws RequestError `invitation_required` without `invite`, when a recipient has no account or
 * is not logged in; `team_not_found`
 */
export async function shareSecrets(
  client: VaultClient,
  names: readonly string[],
  recipients: Recipients,
  { permission, invite }: { readonly permission: Permission; readonly invite: boolean },
): Promise<void> {
  const to =
    recipients.kind === "people"
      ? { usr_id_to: recipients.to }
      : { group_id_to: recipients.to, group_creator: recipients.creator };
  const body = {
    key_name: names,
    usr_id_from: client.email,
    permission,
    ...(!invite && { invite }),
    ...to,
  };
  await client.call("share", body, isObject);
}

/** Stops sharing a secret with one recipient, or with all recipients. */
export async function unshareSecret(
  client: VaultClient,
  name: string,
  grantee?: Grantee,
): Promise<readonly UnshareRecord[]> {
  const body = { key_name: [name], usr_id_from: client.email, ...(grantee && addressed(grantee)) };
  return (await client.call("unshare", body, unshared)).unshared;
}

/** Removes a received secret from the user's own list. */
export async function leaveSecret(
  client: VaultClient,
  { key_name, owner }: SecretAccess,
): Promise<void> {
  await client.call("delete_shared_key_link", { key_name, owner }, isObject);
}
