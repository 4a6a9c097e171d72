import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";

/** Flags of a command that uses a login. */
export interface AccountFlags {
  readonly account: string;
}

/** Returns the directory of the logins: `vaultsync` in the user's directory for configurations. */
export function accountDirectory(): string {
  const base = process.env["XDG_CONFIG_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".config") : base, "vaultsync");
}

/** Variable with the file of the login. */
export const ACCOUNT_VARIABLE = "VAULTSYNC_ACCOUNT";

/** Adds the option that selects a login. */
export function addAccountOption(command: Command): Command {
  return command.addOption(
    new Option("--account <file>", "file of the login")
      .env(ACCOUNT_VARIABLE)
      .default(join(accountDirectory(), "account.json")),
  );
}

/** Flags of a command that prints objects. */
export interface FormatFlags {
  readonly output: "table" | "json" | "yaml";
}

/** Adds the option that selects an output format. */
export function addFormatOption(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "output format")
      .choices(["table", "json", "yaml"])
      .default("table"),
  );
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `HOST:PORT`, where an IPv6 address is in brackets. @throws InvalidArgumentError */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):([0-9]{1,5})$/u.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw new InvalidArgumentError("expected HOST:PORT, for example 127.0.0.1:8200");
  return { host, port };
}
