import type { Command } from "commander";
import { dataOption, addMasterKeyOptions } from "./data-options.ts";
import { quotasOption } from "./quota-option.ts";
import type { ConfirmFlags, DataFlags, HandOverFlags, PasswordFlags } from "./user.ts";

const CONFIRM = "do not ask for confirmation";

/** Adds a command with the email of a user as its argument. */
function addUserCommand(users: Command, name: string, description: string): Command {
  return users
    .command(name)
    .description(description)
    .argument("<email>", "email of the user")
    .addOption(dataOption().makeOptionMandatory());
}

/** Adds the options of the key that authenticates what the command writes. */
const addKeyOptions = (command: Command): Command =>
  addMasterKeyOptions(
    command,
    "file with the master key of the data, which authenticates passwords and teams",
  );

/** Adds a command that reads a password. */
const addPasswordCommand = (users: Command, name: string, description: string): Command =>
  addKeyOptions(addUserCommand(users, name, description)).option(
    "--password-file <file>",
    "file with the password in its first line (default: standard input)",
  );

function addPasswordCommands(users: Command): void {
  addPasswordCommand(
    users,
    "add",
    "Add a user. The password is read from a file or from standard input.",
  ).action(async (email: string, flags: PasswordFlags, command: Command) =>
    (await import("./user.ts")).addUser(email, flags, command),
  );
  addPasswordCommand(
    users,
    "set-password",
    "Set the password of a user, and end all sessions and tokens. The user is notified by email.",
  ).action(async (email: string, flags: PasswordFlags, command: Command) =>
    (await import("./user.ts")).setPassword(email, flags, command),
  );
}

function addStateCommands(users: Command): void {
  addUserCommand(
    users,
    "revoke-tokens",
    "End all sessions, access tokens and refresh tokens of a user.",
  ).action(async (email: string, flags: DataFlags, command: Command) =>
    (await import("./user.ts")).revokeTokens(email, flags, command),
  );
  addUserCommand(
    users,
    "disable",
    "Reject the logins of a user, and end all sessions and tokens. Secrets, files, teams and shares stay.",
  )
    .option("--yes", CONFIRM)
    .action(async (email: string, flags: ConfirmFlags, command: Command) =>
      (await import("./user.ts")).disableUser(email, flags, command),
    );
  addUserCommand(users, "enable", "Accept the logins of a disabled user again.").action(
    async (email: string, flags: DataFlags, command: Command) =>
      (await import("./user.ts")).enableUser(email, flags, command),
  );
}

const HAND_OVER_HELP = `
With --secrets, the secrets and files are handed over too, with all versions;
recipients keep their access. Disable the user first. Servers can keep running.
Each value is sealed again for its new owner, in small transactions: run the
same command again after an interruption. Nothing is handed over if names of
both users collide or a quota would be exceeded. Exit code 1: a secret or file
could not be read, and stays; all others were handed over.

Examples:
  vaultsync vault user disable ann@example.com --data vault.db
  vaultsync vault user hand-over ann@example.com bob@example.com --secrets \\
    --data vault.db --master-key-file master.key`;

function addHandOverCommand(users: Command): void {
  const handOver = addUserCommand(
    users,
    "hand-over",
    "Make another user the creator of all teams that a user created, for example before the user is deleted.",
  ).argument("<to>", "email of the new creator");
  addKeyOptions(handOver)
    .option("--secrets", "hand over secrets and files as well")
    .option(
      "--rename-suffix <text>",
      "appended to names that the new owner has too, instead of failing",
    )
    .addOption(quotasOption())
    .addHelpText("after", HAND_OVER_HELP)
    .action(async (email: string, to: string, flags: HandOverFlags, command: Command) =>
      (await import("./user.ts")).handOver(email, to, flags, command),
    );
}

/** Adds `vaultsync vault user`. Each of its commands loads its action when it runs. */
export function addUserCommands(vault: Command): void {
  const users = vault.command("user").description("Manage the users of a vault.");
  users
    .command("list")
    .description("List the users, one email per line; disabled ones are marked after a tab.")
    .addOption(dataOption().makeOptionMandatory())
    .action(async (flags: DataFlags, command: Command) =>
      (await import("./user.ts")).listUsers(flags, command),
    );
  addPasswordCommands(users);
  addStateCommands(users);
  addHandOverCommand(users);
  addUserCommand(
    users,
    "delete",
    "Delete a user with all secrets, files, shares and teams. Recipients lose what was shared with them. It cannot be undone.",
  )
    .option("--yes", CONFIRM)
    .action(async (email: string, flags: ConfirmFlags, command: Command) =>
      (await import("./user.ts")).deleteUser(email, flags, command),
    );
}
