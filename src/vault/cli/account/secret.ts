import { Command, InvalidArgumentError, Option } from "commander";
import { deleteSecrets } from "../../../protocol/operations/delete.ts";
import { protectLink } from "../../../protocol/operations/protect-link.ts";
import { protect } from "../../../protocol/operations/protect.ts";
import { share } from "../../../protocol/operations/share.ts";
import { unshare } from "../../../protocol/operations/unshare.ts";
import { versionDelete } from "../../../protocol/operations/version-delete.ts";
import { versionExposeLink } from "../../../protocol/operations/version-expose-link.ts";
import { versionExpose } from "../../../protocol/operations/version-expose.ts";
import { versionListForLink } from "../../../protocol/operations/version-list-for-link.ts";
import { versionList } from "../../../protocol/operations/version-list.ts";
import type { Permission } from "../../../protocol/responses.ts";
import { confirm } from "../confirm.ts";
import {
  type AccountFlags,
  addAccountOption,
  openAccount,
} from "../../../command-line/account-option.ts";
import { existingSecret, findSecret, listSecrets } from "../../../protocol/client/find-secret.ts";
import { parseMetadata } from "./metadata-option.ts";
import { addListOptions, type ListFlags, printList, printValue } from "./print.ts";
import { readValue } from "./read-value.ts";
import { secretRows, versionRows } from "./record-tables.ts";

interface OwnerFlags extends AccountFlags {
  readonly owner?: string;
}

const OWNER = [
  "--owner <email>",
  "creator, to tell several received secrets of one name apart",
] as const;

/** Parses a version. @throws InvalidArgumentError */
export function versionNumber(text: string): number {
  const version = Number(text);
  if (!Number.isSafeInteger(version) || version < 1)
    throw new InvalidArgumentError("expected a number from 1.");
  return version;
}

function addReading(secret: Command): void {
  addListOptions(secret.command("list"))
    .description("List the secrets that the account may read, own and received, without values.")
    .action(async (flags: ListFlags) => {
      printList("secrets", await listSecrets(await openAccount(flags)), secretRows, flags);
    });
  addAccountOption(secret.command("get"))
    .description("Print the value of a secret, exactly; a terminal gets a final newline.")
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .option("--version <number>", "version (default: the latest)", versionNumber)
    .action(async (name: string, flags: OwnerFlags & { readonly version?: number }) => {
      const client = await openAccount(flags);
      const { key_name, owner, shared, key_version } = await existingSecret(client, {
        name,
        owner: flags.owner,
      });
      const body = { key_name, key_version: flags.version ?? key_version };
      const exposed = shared
        ? client.call(versionExposeLink, { ...body, owner })
        : client.call(versionExpose, body);
      await printValue(Buffer.from((await exposed).key_value));
    });
  addListOptions(secret.command("versions"))
    .description("List the versions of a secret, without values, the newest first.")
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .action(async (name: string, flags: OwnerFlags & ListFlags) => {
      const client = await openAccount(flags);
      const { key_name, owner, shared } = await existingSecret(client, {
        name,
        owner: flags.owner,
      });
      const { versions } = await (shared
        ? client.call(versionListForLink, { key_name, owner })
        : client.call(versionList, { key_name }));
      printList("versions", versions.toReversed(), versionRows, flags);
    });
}

type SetFlags = OwnerFlags & {
  readonly valueFile?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly deleteMinutes?: number;
};

function addWriting(secret: Command): void {
  addAccountOption(secret.command("set"))
    .description(
      "Create a secret, or its next version. The value comes from standard input or a file, exactly; never from an argument.",
    )
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .option(
      "--value-file <file>",
      "file with the value (default: standard input; a terminal is prompted for one line)",
    )
    .option(
      "--metadata <name=value>",
      "metadata to set; may be repeated; JSON or text",
      parseMetadata,
    )
    .option("--delete-minutes <minutes>", "remove the secret after this time", versionNumber)
    .action(async (name: string, { valueFile, metadata, deleteMinutes, ...flags }: SetFlags) => {
      const client = await openAccount(flags);
      const known = await findSecret(client, { name, owner: flags.owner });
      // A user who may only write does not see the secret in the list.
      const owner = known === undefined ? flags.owner : known.owner;
      const value = await readValue(valueFile);
      const body = {
        key_name: name,
        key_value: value.reveal(),
        ...(metadata && { metadata }),
        ...(deleteMinutes !== undefined && { delete_time: deleteMinutes }),
      };
      const { secret: stored } =
        known?.shared === true || (known === undefined && owner !== undefined)
          ? await client.call(protectLink, { ...body, owner, without_list: 1 })
          : await client.call(protect, body);
      process.stderr.write(`stored version ${stored.key_version} of ${name}\n`);
    });
  addAccountOption(secret.command("delete"))
    .description(
      "Delete own secrets with all versions, for every recipient, or one version of a secret.",
    )
    .argument("<name...>", "names of the secrets: all are deleted, or none")
    .option("--version <number>", "delete only this version, of one secret", versionNumber)
    .option("--yes", "do not ask for confirmation")
    .action(
      async (
        names: string[],
        flags: AccountFlags & { version?: number; yes?: boolean },
        command: Command,
      ) => {
        const [key_name, ...others] = names;
        const { version } = flags;
        if (version !== undefined && others.length > 0)
          command.error("error: --version requires one name");
        const what =
          version === undefined
            ? `${names.join(", ")} with all versions`
            : `version ${version} of ${key_name}`;
        if (!(await confirm(`Delete ${what}? It cannot be undone.`, flags, command))) return;
        const client = await openAccount(flags);
        if (version === undefined) await client.call(deleteSecrets, { key_name: names });
        else await client.call(versionDelete, { key_name, key_version: version });
        process.stderr.write(`deleted ${what}\n`);
      },
    );
}

type ShareFlags = AccountFlags & {
  readonly with?: string[];
  readonly team?: string;
  readonly permission: Permission;
};

/** Returns the recipients as the vault expects them. */
function recipients({ with: users, team }: ShareFlags, command: Command): object {
  if ((users === undefined) === (team === undefined))
    command.error("error: select the recipients with --with or --team");
  return users === undefined ? { group_id_to: team } : { usr_id_to: users };
}

function recipientOptions(command: Command): Command {
  return addAccountOption(command)
    .argument("<name...>", "names of own secrets")
    .option("--with <email...>", "users")
    .option("--team <name>", "a team that the account is a member of");
}

function addSharing(secret: Command): void {
  recipientOptions(secret.command("share"))
    .description("Share own secrets with users or a team, or change the permission.")
    .addOption(
      new Option("--permission <permission>", "R reads, W changes value and metadata")
        .choices(["R", "W", "RW"])
        .default("R"),
    )
    .action(async (names: string[], flags: ShareFlags, command: Command) => {
      const to = recipients(flags, command);
      const client = await openAccount(flags);
      const body = {
        key_name: names,
        usr_id_from: client.email,
        permission: flags.permission,
        ...to,
      };
      for (const { key_name, to: recipient, state } of (await client.call(share, body)).shared) {
        process.stderr.write(`shared ${key_name} with ${recipient} (${state})\n`);
      }
    });
  recipientOptions(secret.command("unshare"))
    .description("Stop sharing own secrets with users or a team.")
    .action(async (names: string[], flags: ShareFlags, command: Command) => {
      const to = recipients(flags, command);
      const client = await openAccount(flags);
      const { unshared } = await client.call(unshare, {
        key_name: names,
        usr_id_from: client.email,
        ...to,
      });
      for (const { key_name, from } of unshared)
        process.stderr.write(`no longer shared: ${key_name} with ${from}\n`);
      if (unshared.length === 0)
        process.stderr.write("not shared with these recipients: nothing was changed\n");
    });
}

/** Returns the definition of `vaultsync secret`. */
export function secretCommand(): Command {
  // Set first, because the subcommands inherit it.
  const secret = new Command("secret")
    .description("Read and change the secrets of a vault account; requires vaultsync login.")
    .exitOverride();
  addReading(secret);
  addWriting(secret);
  addSharing(secret);
  return secret;
}
