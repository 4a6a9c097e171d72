import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { Command } from "commander";
import { deleteFile } from "../../../protocol/operations/delete-file.ts";
import { listFile } from "../../../protocol/operations/list-file.ts";
import type { FileRecord } from "../../../protocol/responses.ts";
import { confirm } from "../confirm.ts";
import type { AccountClient } from "../../../protocol/client/account-client.ts";
import {
  type AccountFlags,
  addAccountOption,
  openAccount,
} from "../../../command-line/account-option.ts";
import { addListOptions, type ListFlags, printList, printValue } from "./print.ts";
import { fileRows, fileVersionRows } from "./record-tables.ts";
import { versionNumber } from "./secret.ts";

interface VersionFlags extends AccountFlags {
  readonly version?: number;
}

const listFiles = async (client: AccountClient): Promise<readonly FileRecord[]> =>
  (await client.call(listFile, {})).files;

function addListing(file: Command): void {
  addListOptions(file.command("list"))
    .description("List the files of the account.")
    .action(async (flags: ListFlags) => {
      printList("files", await listFiles(await openAccount(flags)), fileRows, flags);
    });
  addListOptions(file.command("versions"))
    .description("List the versions of a file, the newest first.")
    .argument("<filename>", "name of the file in the vault")
    .action(async (filename: string, flags: ListFlags) => {
      const found = (await listFiles(await openAccount(flags))).find(
        (one) => one.filename === filename,
      );
      if (found === undefined)
        throw new Error(`no file ${JSON.stringify(filename)}: vaultsync file list shows all`);
      printList("versions", found.versions.toReversed(), fileVersionRows, flags);
    });
}

/** Downloads a file and checks its digest. @throws Error */
async function download(
  client: AccountClient,
  filename: string,
  version: number | undefined,
): Promise<Uint8Array> {
  const { bytes, etag } = await client.download(filename, version);
  const [, digest] = /^"([0-9a-f]{64})"$/u.exec(String(etag)) ?? [];
  if (digest !== undefined && digest !== createHash("sha256").update(bytes).digest("hex"))
    throw new Error("the download is damaged: try again");
  return bytes;
}

function addTransfers(file: Command): void {
  addAccountOption(file.command("get"))
    .description("Download a file to standard output, or to a file that only its user can read.")
    .argument("<filename>", "name of the file in the vault")
    .option("--version <number>", "version (default: the latest)", versionNumber)
    .option("--to <path>", "file to write; an existing one is not replaced without --force")
    .option("--force", "replace an existing file")
    .action(
      async (
        filename: string,
        flags: VersionFlags & { readonly to?: string; readonly force?: boolean },
      ) => {
        const bytes = await download(await openAccount(flags), filename, flags.version);
        if (flags.to === undefined) await printValue(bytes);
        else
          await writeFile(flags.to, bytes, {
            mode: 0o600,
            flag: flags.force === true ? "w" : "wx",
          });
      },
    );
  addAccountOption(file.command("put"))
    .description("Upload files, each as the next version of its name: all of them, or none.")
    .argument("<path...>", "paths; the name in the vault is the last segment")
    .option("--name <filename>", "name in the vault, of one file")
    .action(
      async (
        paths: string[],
        { name, ...flags }: AccountFlags & { readonly name?: string },
        command: Command,
      ) => {
        if (name !== undefined && paths.length > 1)
          command.error("error: --name requires one path");
        const files = new Map<string, Blob>();
        for (const path of paths) {
          const filename = name ?? basename(path);
          if (files.has(filename))
            command.error(
              `error: two paths have the name ${filename}: upload them one by one with --name`,
            );
          files.set(filename, await openAsBlob(path));
        }
        const client = await openAccount(flags);
        for (const { filename, version, size } of (await client.upload(files)).files) {
          process.stderr.write(`stored version ${version} of ${filename} (${size} bytes)\n`);
        }
      },
    );
}

function addDeletion(file: Command): void {
  addAccountOption(file.command("delete"))
    .description("Delete a file with all versions, or one version of it.")
    .argument("<filename>", "name of the file in the vault")
    .option("--version <number>", "delete only this version", versionNumber)
    .option("--yes", "do not ask for confirmation")
    .action(
      async (
        filename: string,
        flags: VersionFlags & { readonly yes?: boolean },
        command: Command,
      ) => {
        const { version } = flags;
        const what =
          version === undefined
            ? `${filename} with all versions`
            : `version ${version} of ${filename}`;
        if (!(await confirm(`Delete ${what}? It cannot be undone.`, flags, command))) return;
        const client = await openAccount(flags);
        await client.call(deleteFile, { filename, ...(version !== undefined && { version }) });
        process.stderr.write(`deleted ${what}\n`);
      },
    );
}

/** Returns the definition of `vaultsync file`. */
export function fileCommand(): Command {
  // Set first, because the subcommands inherit it.
  const file = new Command("file")
    .description("Read and change the files of a vault account; requires vaultsync login.")
    .exitOverride();
  addListing(file);
  addTransfers(file);
  addDeletion(file);
  return file;
}
