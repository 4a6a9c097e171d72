import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { addUser, endCredentials, replacePassword } from "../../vault-server/accounts/users.ts";
import { openStore } from "../../vault-server/store/open-store.ts";
import { readPassword } from "../read-password.ts";
import { dataOption, rejectPassword } from "./data-option.ts";

function addPasswordCommand(users: Command): void {
  users
    .command("set-password")
    .description("Set the password of a user, and end all sessions and tokens of the account.")
    .argument("<email>", "email of the user")
    .addOption(dataOption().makeOptionMandatory())
    .option("--password-file <file>", "file with the password in its first line (default: standard input)")
    .action(async (email: string, flags: { readonly data: string; readonly passwordFile?: string }, command: Command) => {
      rejectPassword(command);
      const password = await readPassword(flags.passwordFile);
      await using store = await openStore(flags.data);
      await replacePassword(store, email, password);
      process.stderr.write(`set the password of ${canonicalEmail(email)}\n`);
    });
}

function addTokenCommand(users: Command): void {
  users
    .command("revoke-tokens")
    .description("End all sessions, access tokens and refresh tokens of a user.")
    .argument("<email>", "email of the user")
    .addOption(dataOption().makeOptionMandatory())
    .action(async (email: string, flags: { readonly data: string }) => {
      await using store = await openStore(flags.data);
      await endCredentials(store, email);
      process.stderr.write(`ended the sessions and tokens of ${canonicalEmail(email)}\n`);
    });
}

/** Adds `vaultsync vault user`. */
export function userCommand(parent: Command): void {
  const command = parent.command("user").description("Manage the users of a vault.");
  addPasswordCommand(command);
  addTokenCommand(command);
  command
    .command("list")
    .description("List the users, one email per line.")
    .addOption(dataOption().makeOptionMandatory())
    .action(async (flags: { readonly data: string }) => {
      await using store = await openStore(flags.data);
      for (const email of await store.read(({ users }) => users.list())) process.stdout.write(`${email}\n`);
    });
  command
    .command("add")
    .description("Add a user. The password is read from a file or from standard input.")
    .argument("<email>", "email of the user")
    .addOption(dataOption().makeOptionMandatory())
    .option("--password-file <file>", "file with the password in its first line (default: standard input)")
    .action(async (email: string, flags: { readonly data: string; readonly passwordFile?: string }, action: Command) => {
      rejectPassword(action);
      process.umask(0o077);
      const password = await readPassword(flags.passwordFile);
      await using store = await openStore(flags.data);
      const added = await addUser(store, email, password, systemClock.now());
      process.stderr.write(`added ${added.email}\n`);
    });
}
