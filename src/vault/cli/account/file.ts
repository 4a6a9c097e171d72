import { openAsBlob } from "node:fs";
import { open, realpath, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Command } from "commander";
import type { AccountFlags } from "../../../command-line/options.ts";
import { replaceFile } from "../../../lib/replace-file.ts";
import { downloadFile } from "../../../protocol/client/download-file.ts";
import { VaultClient } from "../../../protocol/client/vault-client.ts";
import { deleteFile, listFile } from "../../../protocol/operations/files.ts";
import type { FileRecord } from "../../../protocol/responses.ts";
import { confirm } from "../../../command-line/confirm.ts";
import { FINAL, UNDO } from "../terminal.ts";
import { type ListFlags, printList, printValue, fileRows, fileVersionRows } from "./print.ts";

interface VersionFlags extends AccountFlags {
  readonly version?: number;
}

async function listFiles({ account }: AccountFlags): Promise<readonly FileRecord[]> {
  return (await (await VaultClient.open(account)).call(listFile, {})).files;
}

export async function list(flags: ListFlags): Promise<void> {
  printList("files", await listFiles(flags), fileRows, flags);
}

/** @throws Error when the account has no file of this name */
export async function versions(filename: string, flags: ListFlags): Promise<void> {
  const found = (await listFiles(flags)).find((one) => one.filename === filename);
  if (found === undefined)
    throw new Error(`no file ${JSON.stringify(filename)}: vaultsync file list shows all`);
  printList("versions", found.versions.toReversed(), fileVersionRows, flags);
}

export type GetFileFlags = VersionFlags & { readonly to?: string; readonly force?: boolean };

export async function get(filename: string, flags: GetFileFlags): Promise<void> {
  const client = await VaultClient.open(flags.account);
  const bytes = await downloadFile(client, filename, flags.version);
  if (flags.to === undefined) await printValue(bytes);
  else await writePrivately(flags.to, bytes, flags.force === true);
}

/**
 * Writes a file that only its user can read, or none when that fails. One that it replaces keeps its
 * content until all is written; `replace` also permits a device or a pipe.
 */
async function writePrivately(path: string, bytes: Uint8Array, replace: boolean): Promise<void> {
  const found = replace ? await stat(path).catch(() => undefined) : undefined;
  if (found?.isFile()) return replaceFile(await realpath(path), bytes);
  await using file = await open(path, replace ? "w" : "wx", 0o600);
  try {
    await file.writeFile(bytes);
  } catch (error) {
    if (!found) await rm(path, { force: true });
    throw error;
  }
}

export type PutFlags = AccountFlags & { readonly name?: string };

export async function put(
  paths: readonly string[],
  { name, account }: PutFlags,
  command: Command,
): Promise<void> {
  if (name !== undefined && paths.length > 1) command.error("error: --name requires one path");
  const files = new Map<string, Blob>();
  for (const path of paths) {
    const filename = name ?? basename(path);
    if (files.has(filename))
      command.error(
        `error: two paths have the name ${filename}: upload them one by one with --name`,
      );
    files.set(filename, await openAsBlob(path));
  }
  const client = await VaultClient.open(account);
  for (const { filename, version, size } of (await client.upload(files)).files) {
    process.stderr.write(`stored version ${version} of ${filename} (${size} bytes)\n`);
  }
}

export type DeleteFileFlags = VersionFlags & {
  readonly permanently?: boolean;
  readonly yes?: boolean;
};

export async function remove(
  filename: string,
  flags: DeleteFileFlags,
  command: Command,
): Promise<void> {
  const { version, permanently = false } = flags;
  const what =
    version === undefined ? `${filename} with all versions` : `version ${version} of ${filename}`;
  const undo = version === undefined && !permanently ? UNDO : FINAL;
  if (!(await confirm(`Delete ${what}? ${undo}`, flags, command))) return;
  const client = await VaultClient.open(flags.account);
  const request = {
    filename,
    ...(version !== undefined && { version }),
    ...(permanently && { permanently }),
  };
  const { trash } = await client.call(deleteFile, request);
  process.stderr.write(trash ? `moved ${what} to the trash\n` : `deleted ${what}\n`);
}
