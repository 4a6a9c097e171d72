import { canonicalEmail } from "../email-address.ts";
import { listNoDup, versionList } from "../operations/secrets.ts";
import { versionListForLink } from "../operations/shared-secrets.ts";
import type { SecretRecord, VersionRecord } from "../responses.ts";
import type { VaultClient } from "./vault-client.ts";

/** A name, and the creator if several secrets have it. */
export interface SecretName {
  readonly name: string;
  readonly owner?: string | undefined;
}

/** Returns the secrets that the account may read, by name, then owner. */
export async function listSecrets(client: VaultClient): Promise<readonly SecretRecord[]> {
  return (await client.call(listNoDup, {})).secrets;
}

/**
 * Returns the listed secret of this name; the account's own one before received ones, unless an
 * owner is named.
 * @param alternative what a user who means none of them can do, for the error
 * @throws Error when several received secrets have the name
 */
export async function findSecret(
  client: VaultClient,
  { name, owner }: SecretName,
  alternative = "",
): Promise<SecretRecord | undefined> {
  const named = (await listSecrets(client)).filter((record) => record.key_name === name);
  const ofUser = (email: string): SecretRecord | undefined =>
    named.find((record) => record.owner === canonicalEmail(email));
  if (owner !== undefined) return ofUser(owner);
  const own = ofUser(client.email);
  const [first, second] = named;
  if (own !== undefined || second === undefined) return own ?? first;
  const owners = named.map((record) => record.owner).join(", ");
  throw new Error(
    `several users shared a secret of this name: select one with --owner (${owners})${alternative}`,
  );
}

/**
 * Returns the listed secret. @throws Error when the account has none of this name that it may read
 */
export async function existingSecret(
  client: VaultClient,
  secret: SecretName,
): Promise<SecretRecord> {
  const record = await findSecret(client, secret);
  if (record !== undefined) return record;
  const from = secret.owner === undefined ? "" : ` of ${secret.owner}`;
  throw new Error(
    `no secret ${JSON.stringify(secret.name)}${from}: vaultsync secret list shows those that ${client.email} may read`,
  );
}

/**
 * Returns the versions of a secret, ascending. @throws Error when the account has no such secret
 * that it may read
 */
export async function secretVersions(
  client: VaultClient,
  secret: SecretName,
): Promise<readonly VersionRecord[]> {
  const { key_name, owner, shared } = await existingSecret(client, secret);
  const listed = await (shared
    ? client.call(versionListForLink, { key_name, owner })
    : client.call(versionList, { key_name }));
  return listed.versions;
}
