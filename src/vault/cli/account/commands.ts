import { Command, InvalidArgumentError, Option } from "commander";
import {
  addAccountOption,
  addFormatOption,
  type AccountFlags,
} from "../../../command-line/options.ts";
import type { ValueCheck } from "../../../command-line/value-check.ts";
import { jsonOrUndefined } from "../../../lib/json-or-undefined.ts";
import { isLoopback } from "../../../lib/loopback.ts";
import { unlimitedScope, formatScope, parseScope } from "../../../protocol/scope.ts";
import type { DeleteFileFlags, GetFileFlags, PutFlags } from "./file.ts";
import type { LoginFlags } from "./login.ts";
import type { ListFlags } from "./print.ts";
import type {
  DeleteSecretFlags,
  GetSecretFlags,
  SetFlags,
  ShareFlags,
  UnshareFlags,
  VersionsFlags,
} from "./secret.ts";
import { withoutTrailingSlashes } from "../../../lib/without-trailing-slashes.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Adds the options of a command that prints a list. */
const addListOptions = (command: Command): Command => addFormatOption(addAccountOption(command));

/** Parses a version or another count. @throws InvalidArgumentError */
function countFromOne(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidArgumentError("expected a number from 1.");
  return count;
}

/** Checks the base address. A password is sent over plain HTTP to this machine only. */
function vaultUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !["https:", "http:"].includes(url.protocol))
    throw new InvalidArgumentError("expected https://HOST.");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new InvalidArgumentError("expected a URL without credentials, query and fragment.");
  if (url.protocol === "http:" && !isLoopback(url.hostname.replace(/^\[|\]$/gu, "")))
    throw new InvalidArgumentError("http sends the password readable by others: use https.");
  return withoutTrailingSlashes(url.href);
}

function scopeText(text: string): string {
  try {
    return formatScope(parseScope(text));
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

function wholeHours(text: string): number {
  const hours = Number(text);
  if (!Number.isSafeInteger(hours) || hours < 1)
    throw new InvalidArgumentError("expected a number of hours, at least 1.");
  return hours;
}

function loginCommand(): Command {
  return addAccountOption(new Command("login"))
    .description(
      "Log in to a vault. The secret and file commands use the login, and refresh its token themselves.",
    )
    .requiredOption("--url <url>", "base address of the vault", vaultUrl)
    .requiredOption("--email <email>", "email of the account")
    .option(
      "--password-file <file>",
      "file with the password in its first line (default: standard input)",
    )
    .option("--ca-file <file>", "PEM bundle trusted instead of the public authorities")
    .addOption(
      new Option(
        "--scope <scope>",
        "limits the token to secrets with these attributes, as in the vault's API",
      )
        .default(formatScope(unlimitedScope), "every secret")
        .argParser(scopeText),
    )
    .option("--hours <hours>", "lifetime of each access token", wholeHours, 24)
    .option(
      "--lifetime-hours <hours>",
      "hours after which the login ends although its token is refreshed (default: no limit)",
      wholeHours,
    )
    .option(
      "--allowed-networks <network,...>",
      "addresses and networks such as 10.0.0.0/8 from which the login can be used, as the vault sees them (default: all)",
      (text: string) => text.split(",").map((network) => network.trim()),
    )
    .action(async (flags: LoginFlags) => (await import("./login.ts")).login(flags));
}

function logoutCommand(): Command {
  return addAccountOption(new Command("logout"))
    .description(
      "End the tokens of the login in the vault, and remove the login from this machine.",
    )
    .action(async (flags: AccountFlags) => (await import("./login.ts")).logout(flags));
}

const PERMANENTLY = [
  "--permanently",
  "bypass the trash of the vault, for a value that has leaked",
] as const;

const OWNER = ["--owner <email>", "creator of a received secret"] as const;

function addReading(secret: Command): void {
  addListOptions(secret.command("list"))
    .description("List the secrets that the account may read, own and received, without values.")
    .action(async (flags: ListFlags) => (await import("./secret.ts")).list(flags));
  addAccountOption(secret.command("get"))
    .description("Print the value of a secret, exactly; a terminal gets a final newline.")
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .option("--version <number>", "version (default: the latest)", countFromOne)
    .action(async (name: string, flags: GetSecretFlags) =>
      (await import("./secret.ts")).get(name, flags),
    );
  addListOptions(secret.command("versions"))
    .description("List the versions of a secret, without values, the newest first.")
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .action(async (name: string, flags: VersionsFlags) =>
      (await import("./secret.ts")).versions(name, flags),
    );
}

/**
 * Adds one `name=value` to the metadata. A value that parses as JSON is JSON; any other is text.
 * @throws InvalidArgumentError
 */
function parseMetadata(
  text: string,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const [, name, value = ""] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("expected name=value.");
  return { ...before, [name]: jsonOrUndefined(value) ?? value };
}

function addWriting(secret: Command, check: ValueCheck): void {
  check
    .addOptions(addAccountOption(secret.command("set")))
    .description(
      "Create a secret, or its next version. The value comes from standard input or a file, exactly; never from an argument.",
    )
    .argument("<name>", "name of the secret")
    .option(...OWNER)
    .option(
      "--value-file <file>",
      "file with the value (default: standard input; a terminal is prompted for one line)",
    )
    .option("--allow-empty", "store an empty value; without it, one is an error")
    .option(
      "--metadata <name=value>",
      "metadata to set; may be repeated; JSON or text",
      parseMetadata,
    )
    .option("--delete-minutes <minutes>", "remove the secret after this time", countFromOne)
    .action(async (name: string, flags: SetFlags) =>
      (await import("./secret.ts")).set(name, flags, check),
    );
  addAccountOption(secret.command("delete"))
    .description(
      "Delete own secrets with all versions, for every recipient, or one version of a secret.",
    )
    .argument("<name...>", "names of the secrets: all are deleted, or none")
    .option("--version <number>", "delete only this version, of one secret", countFromOne)
    .option(...PERMANENTLY)
    .option("--yes", "do not ask for confirmation")
    .action(async (names: string[], flags: DeleteSecretFlags, command: Command) =>
      (await import("./secret.ts")).remove(names, flags, command),
    );
}

function addRecipientOptions(command: Command): Command {
  return addAccountOption(command)
    .argument("<name...>", "names of own secrets")
    .option("--with <email...>", "users")
    .option("--team <name>", "a team that the account is a member of");
}

function addSharing(secret: Command): void {
  addRecipientOptions(secret.command("share"))
    .description("Share own secrets with users or a team, or change the permission.")
    .addOption(
      new Option("--permission <permission>", "R reads, W changes value and metadata")
        .choices(["R", "W", "RW"])
        .default("R"),
    )
    .action(async (names: string[], flags: ShareFlags, command: Command) =>
      (await import("./secret.ts")).shareWith(names, flags, command),
    );
  addRecipientOptions(secret.command("unshare"))
    .description("Stop sharing own secrets with users or a team.")
    .action(async (names: string[], flags: UnshareFlags, command: Command) =>
      (await import("./secret.ts")).unshareWith(names, flags, command),
    );
}

function secretCommand(check: ValueCheck): Command {
  // Set first, because the subcommands inherit it.
  const secret = new Command("secret")
    .description("Read and change the secrets of a vault account; requires vaultsync login.")
    .exitOverride();
  addReading(secret);
  addWriting(secret, check);
  addSharing(secret);
  return secret;
}

function addTransfers(file: Command): void {
  addAccountOption(file.command("get"))
    .description("Download a file to standard output, or to a file that only its user can read.")
    .argument("<filename>", "name of the file in the vault")
    .option("--version <number>", "version (default: the latest)", countFromOne)
    .option("--to <path>", "file to write; an existing one is not replaced without --force")
    .option("--force", "replace an existing file")
    .action(async (filename: string, flags: GetFileFlags) =>
      (await import("./file.ts")).get(filename, flags),
    );
  addAccountOption(file.command("put"))
    .description("Upload files, each as the next version of its name: all of them, or none.")
    .argument("<path...>", "paths; the name in the vault is the last segment")
    .option("--name <filename>", "name in the vault, of one file")
    .action(async (paths: string[], flags: PutFlags, command: Command) =>
      (await import("./file.ts")).put(paths, flags, command),
    );
}

function fileCommand(): Command {
  // Set first, because the subcommands inherit it.
  const file = new Command("file")
    .description("Read and change the files of a vault account; requires vaultsync login.")
    .exitOverride();
  addListOptions(file.command("list"))
    .description("List the files of the account.")
    .action(async (flags: ListFlags) => (await import("./file.ts")).list(flags));
  addListOptions(file.command("versions"))
    .description("List the versions of a file, the newest first.")
    .argument("<filename>", "name of the file in the vault")
    .action(async (filename: string, flags: ListFlags) =>
      (await import("./file.ts")).versions(filename, flags),
    );
  addTransfers(file);
  addAccountOption(file.command("delete"))
    .description("Delete a file with all versions, or one version of it.")
    .argument("<filename>", "name of the file in the vault")
    .option("--version <number>", "delete only this version", countFromOne)
    .option(...PERMANENTLY)
    .option("--yes", "do not ask for confirmation")
    .action(async (filename: string, flags: DeleteFileFlags, command: Command) =>
      (await import("./file.ts")).remove(filename, flags, command),
    );
  return file;
}

/**
 * Returns the definitions of the commands of a vault account. Each loads its action when it runs.
 * @param check of values that are stored
 */
export function accountCommands(check: ValueCheck): Command[] {
  return [loginCommand(), logoutCommand(), secretCommand(check), fileCommand()];
}
