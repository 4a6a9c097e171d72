import { type Command, Option } from "commander";
import { AccountClient } from "../protocol/client/account-client.ts";
import { AccountFile, defaultAccountFile } from "../protocol/client/account-file.ts";

export interface AccountFlags {
  readonly account: string;
}

/** Adds the option that selects a login. */
export function addAccountOption(command: Command): Command {
  return command.addOption(
    new Option("--account <file>", "file of the login")
      .env("VAULTSYNC_ACCOUNT")
      .default(defaultAccountFile()),
  );
}

/** Opens the login that the flags select. @throws Error that says to log in */
export const openAccount = ({ account }: AccountFlags): Promise<AccountClient> =>
  AccountClient.open(new AccountFile(account));
