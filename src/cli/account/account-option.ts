import { type Command, Option } from "commander";
import { AccountClient } from "./account-client.ts";
import { AccountFile, defaultAccountFile } from "./account-file.ts";

export interface AccountFlags {
  readonly account: string;
}

export type OutputFlags = AccountFlags & { readonly output: "table" | "json" | "yaml" };

/** Adds the option that selects a login. */
export function addAccountOption(command: Command): Command {
  return command.addOption(
    new Option("--account <file>", "file of the login").env("VAULTSYNC_ACCOUNT").default(defaultAccountFile()),
  );
}

/** Adds the option that selects the format of a list, and that of the login. */
export function addOutputOptions(command: Command): Command {
  return addAccountOption(command).addOption(
    new Option("-o, --output <format>", "output format").choices(["table", "json", "yaml"]).default("table"),
  );
}

/** Opens the login that the flags select. @throws Error that says to log in */
export const openAccount = ({ account }: AccountFlags): Promise<AccountClient> => AccountClient.open(new AccountFile(account));
