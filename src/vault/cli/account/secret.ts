import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Command } from "commander";
import { confirm } from "../../../command-line/confirm.ts";
import type { AccountFlags } from "../../../command-line/options.ts";
import type { ValueCheck } from "../../../command-line/value-check.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { VaultClient } from "../../../protocol/client/vault-client.ts";
import {
  existingSecret,
  findSecret,
  listSecrets,
  secretVersions,
} from "../../../protocol/client/find-secret.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import type { RequestBody } from "../../../protocol/operation-bodies.ts";
import {
  deleteSecrets,
  protect,
  updateKeyMetadata,
  versionDelete,
  versionExpose,
} from "../../../protocol/operations/secrets.ts";
import { protectLink, versionExposeLink } from "../../../protocol/operations/shared-secrets.ts";
import { share, unshare } from "../../../protocol/operations/sharing.ts";
import type { Permission, SecretRecord } from "../../../protocol/responses.ts";
import { FINAL, readPassword, UNDO } from "../terminal.ts";
import { type ListFlags, printList, printValue, secretRows, versionRows } from "./print.ts";
import { messageOf } from "../../../lib/errors.ts";

interface OwnerFlags extends AccountFlags {
  readonly owner?: string;
}

export async function list(flags: ListFlags): Promise<void> {
  const client = await VaultClient.open(flags.account);
  printList("secrets", await listSecrets(client), secretRows, flags);
}

export type GetSecretFlags = OwnerFlags & { readonly version?: number };

export async function get(name: string, flags: GetSecretFlags): Promise<void> {
  const client = await VaultClient.open(flags.account);
  const found = await existingSecret(client, { name, owner: flags.owner });
  const { key_name, owner, shared, key_version } = found;
  requireNamed(client, found, flags, "to read it");
  const body = { key_name, key_version: flags.version ?? key_version };
  const exposed = shared
    ? client.call(versionExposeLink, { ...body, owner })
    : client.call(versionExpose, body);
  await printValue(Buffer.from((await exposed).key_value));
}

/**
 * Requires the owner of a received secret: any user can share one under a name that the caller
 * means as an own one.
 * @param purpose of the option
 * @throws Error
 */
function requireNamed(
  client: VaultClient,
  { key_name, owner }: Pick<SecretRecord, "key_name" | "owner">,
  { owner: named }: OwnerFlags,
  purpose: string,
): void {
  if (named === undefined && !isOf(client, owner))
    throw new Error(`${key_name} is a secret of ${owner}: add --owner ${owner} ${purpose}`);
}

export type VersionsFlags = OwnerFlags & ListFlags;

export async function versions(name: string, flags: VersionsFlags): Promise<void> {
  const client = await VaultClient.open(flags.account);
  const listed = await secretVersions(client, { name, owner: flags.owner });
  printList("versions", listed.toReversed(), versionRows, flags);
}

/**
 * Reads a value exactly, from a file or standard input; a terminal is prompted for one line,
 * without echo. @throws Error
 */
async function readValue(file: string | undefined): Promise<Redacted<string>> {
  if (file === undefined && process.stdin.isTTY) return readPassword(undefined, "Value: ");
  const bytes = file === undefined ? await buffer(process.stdin) : await readFile(file);
  try {
    return new Redacted(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Error(
      "the value is not UTF-8: store it as a file with vaultsync file put, or encode it, for example with base64",
    );
  }
}

export type SetFlags = OwnerFlags & {
  readonly valueFile?: string;
  readonly allowEmpty?: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly deleteMinutes?: number;
};

/** Reads a value that is to be stored, and rejects an empty one. @throws Error */
async function readNewValue(
  file: string | undefined,
  allowEmpty: boolean,
): Promise<Redacted<string>> {
  const value = await readValue(file);
  if (value.reveal() === "" && !allowEmpty)
    throw new Error(
      "the value is empty, as after a command in a pipe that failed: nothing is stored; give --allow-empty to store it",
    );
  return value;
}

/** The secret that a value is stored in. */
interface Target {
  /** Next version. */
  readonly version: number;
  readonly owner: string | undefined;
  readonly isOwn: boolean;
  readonly isShared: boolean;
}

/** @throws Error of `requireNamed` */
async function targetOf(client: VaultClient, name: string, flags: OwnerFlags): Promise<Target> {
  const orOwn = `, or --owner ${client.email} for a secret of yours`;
  const known = await findSecret(client, { name, owner: flags.owner }, orOwn);
  const purpose = `to store the value there${orOwn}`;
  if (known) requireNamed(client, known, flags, purpose);
  // A user who may only write does not see the secret in the list.
  const owner = known?.owner ?? flags.owner;
  const isOwn = owner === undefined || isOf(client, owner);
  return {
    version: (known?.key_version ?? 0) + 1,
    owner,
    isOwn,
    isShared: known?.shared ?? !isOwn,
  };
}

/** @param check checks the value before it is stored, by what the flags name */
export async function set(
  name: string,
  { valueFile, allowEmpty, ...flags }: SetFlags,
  check: ValueCheck,
): Promise<void> {
  const client = await VaultClient.open(flags.account);
  const value = await readNewValue(valueFile, allowEmpty === true);
  const { version, owner, isOwn, isShared } = await targetOf(client, name, flags);
  const problems = [...(await check.problemsOf({ name, version, value }, flags))];
  if (!isOwn && flags.deleteMinutes !== undefined)
    problems.push("only the creator of a secret sets its removal: omit --delete-minutes");
  if (problems.length > 0) throw new Error(`${problems.join("\n")}\nnothing is stored`);
  const { secret: stored } = isShared
    ? await storeShared(client, { key_name: name, owner }, value, flags)
    : await client.call(protect, {
        key_name: name,
        key_value: value.reveal(),
        ...moreOf(flags),
      });
  process.stderr.write(`stored version ${stored.key_version} of ${name}\n`);
}

function isOf({ email }: VaultClient, owner: string): boolean {
  return canonicalEmail(owner) === canonicalEmail(email);
}

type MoreFlags = Pick<SetFlags, "metadata" | "deleteMinutes">;

/** Returns what a request sets in addition to the value. */
function moreOf({
  metadata,
  deleteMinutes,
}: MoreFlags): Pick<RequestBody<"protect">, "metadata" | "delete_time"> {
  return {
    ...(metadata && { metadata }),
    ...(deleteMinutes !== undefined && { delete_time: deleteMinutes }),
  };
}

/**
 * Adds a version to a shared secret. The operation for these takes a value only: another request
 * sets the metadata of the version, and the removal time.
 * @throws Error that says whether the version is stored
 */
async function storeShared(
  client: VaultClient,
  secret: Pick<RequestBody<"protect_link">, "key_name" | "owner">,
  value: Redacted<string>,
  flags: MoreFlags,
): Promise<{ readonly secret: Pick<SecretRecord, "key_version"> }> {
  const body = { ...secret, key_value: value.reveal(), without_list: 1 };
  const stored = await client.call(protectLink, body);
  const more = moreOf(flags);
  if (Object.keys(more).length === 0) return stored;
  const { key_version } = stored.secret;
  return client
    .call(updateKeyMetadata, { ...secret, key_version, ...more })
    .catch((error: unknown) => {
      const reason = messageOf(error);
      const what = `stored version ${key_version} of ${secret.key_name}`;
      throw new Error(`${what}, without its metadata and removal time: ${reason}`);
    });
}

export type DeleteSecretFlags = AccountFlags & {
  readonly version?: number;
  readonly permanently?: boolean;
  readonly yes?: boolean;
};

export async function remove(
  names: readonly string[],
  flags: DeleteSecretFlags,
  command: Command,
): Promise<void> {
  const [key_name = "", ...others] = names;
  const { version, permanently = false } = flags;
  if (version !== undefined && others.length > 0)
    command.error("error: --version requires one name");
  const what =
    version === undefined
      ? `${names.join(", ")} with all versions`
      : `version ${version} of ${key_name}`;
  const undo = version === undefined && !permanently ? UNDO : FINAL;
  if (!(await confirm(`Delete ${what}? ${undo}`, flags, command))) return;
  const client = await VaultClient.open(flags.account);
  if (version !== undefined) {
    await client.call(versionDelete, { key_name, key_version: version });
    process.stderr.write(`deleted ${what}\n`);
    return;
  }
  const request = { key_name: names, ...(permanently && { permanently }) };
  const { trash } = await client.call(deleteSecrets, request);
  process.stderr.write(trash ? `moved ${what} to the trash\n` : `deleted ${what}\n`);
}

export type UnshareFlags = AccountFlags & {
  readonly with?: string[];
  readonly team?: string;
};

export type ShareFlags = UnshareFlags & { readonly permission: Permission };

/** Returns the recipients as the vault expects them. */
function recipients(
  { with: users, team }: UnshareFlags,
  command: Command,
): Pick<RequestBody<"share">, "usr_id_to" | "group_id_to"> {
  if (users !== undefined && team === undefined) return { usr_id_to: users };
  if (team !== undefined && users === undefined) return { group_id_to: team };
  return command.error("error: select the recipients with --with or --team");
}

export async function shareWith(
  names: readonly string[],
  flags: ShareFlags,
  command: Command,
): Promise<void> {
  const to = recipients(flags, command);
  const client = await VaultClient.open(flags.account);
  const body = {
    key_name: names,
    usr_id_from: client.email,
    permission: flags.permission,
    ...to,
  };
  for (const { key_name, to: recipient, state } of (await client.call(share, body)).shared) {
    process.stderr.write(`shared ${key_name} with ${recipient} (${state})\n`);
  }
}

export async function unshareWith(
  names: readonly string[],
  flags: UnshareFlags,
  command: Command,
): Promise<void> {
  const to = recipients(flags, command);
  const client = await VaultClient.open(flags.account);
  const { unshared } = await client.call(unshare, {
    key_name: names,
    usr_id_from: client.email,
    ...to,
  });
  for (const { key_name, from } of unshared)
    process.stderr.write(`no longer shared: ${key_name} with ${from}\n`);
  if (unshared.length === 0)
    process.stderr.write("not shared with these recipients: nothing was changed\n");
}
