import { Option, type Command, InvalidArgumentError } from "commander";
import { containsPassword } from "../server/store/postgres/postgres-location.ts";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";

/** Returns the option `--data`; {@link rejectPassword} checks its value. */
export function dataOption(): Option {
  return new Option(
    "--data <file>",
    "SQLite file or PostgreSQL URL (postgres://…) of the vault's data",
  ).env("VAULTSYNC_VAULT_DATA");
}

/** Rejects a password in `--data`: every user of the machine can read a command line. */
export function rejectPassword(command: Command): void {
  const data: unknown = command.getOptionValue("data");
  if (
    command.getOptionValueSource("data") !== "cli" ||
    typeof data !== "string" ||
    !containsPassword(data)
  )
    return;
  command.error(
    "error: --data must not contain a password: set PGPASSWORD or PGPASSFILE, or pass the whole URL " +
      "in the environment variable VAULTSYNC_VAULT_DATA",
  );
}

/** Flags that name the source of the master keys. */
export interface MasterKeyFlags {
  readonly masterKeyFile?: string;
  readonly masterKeyCommand?: readonly string[];
}

const EXPECTED =
  "expected a program and its arguments, separated by spaces; no shell runs, so write arguments with spaces or quotes as a JSON array, " +
  'for example ["kms-decrypt","--file","my key"]';

function isCommand(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value[0] !== "" &&
    value.every((word) => typeof word === "string")
  );
}

/**
 * Parses a program and its arguments: words separated by spaces, or a JSON array. @throws
 * InvalidArgumentError
 */
export function parseCommandLine(text: string): string[] {
  const trimmed = text.trim();
  const isPlain = !/["'`\\$|&;<>()*?]/u.test(trimmed) && !trimmed.startsWith("[");
  const command = isPlain ? trimmed.split(/\s+/u) : jsonOrUndefined(trimmed);
  if (!isCommand(command)) throw new InvalidArgumentError(EXPECTED);
  return command;
}

/**
 * Adds `--master-key-file`, with a description of that file, and `--master-key-command`.
 * `masterKeys` reads their values.
 */
export function addMasterKeyOptions(command: Command, description: string): Command {
  return command
    .addOption(
      new Option("--master-key-file <file>", `${description} (or VAULTSYNC_VAULT_MASTER_KEY)`).env(
        "VAULTSYNC_VAULT_MASTER_KEY_FILE",
      ),
    )
    .addOption(
      new Option(
        "--master-key-command <command>",
        "program that prints the master key, such as that of a KMS, instead of a file; it runs once, without a shell",
      )
        .env("VAULTSYNC_VAULT_MASTER_KEY_COMMAND")
        .argParser(parseCommandLine)
        .conflicts("masterKeyFile"),
    );
}
