import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { UserManager, type Belongings } from "../../vault-server/accounts/manage-users.ts";
import { openStore } from "../../vault-server/store/open-store.ts";
import { confirm } from "../confirm.ts";
import { readPassword } from "../read-password.ts";
import { addHandOverOptions, handOverAll, type HandOverFlags } from "./hand-over.ts";
import { dataOption, openExistingStore, rejectPassword } from "./data-option.ts";

interface DataFlag {
  readonly data: string;
}

interface PasswordFlags extends DataFlag {
  readonly passwordFile?: string;
}

interface ConfirmFlags extends DataFlag {
  readonly yes?: boolean;
}

const CONFIRM = "do not ask for confirmation";

/** Opens the store, runs `work` and reports what it returns. Only `add` creates a store. */
async function manage(
  command: Command,
  { data }: DataFlag,
  work: (users: UserManager) => Promise<string | undefined>,
): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  await using store = await (command.name() === "add" ? openStore(data) : openExistingStore(data));
  const done = await work(new UserManager(store, systemClock));
  if (done !== undefined) process.stderr.write(`${done}\n`);
}

/** Adds a command with the email of a user as its argument. */
function userAction(users: Command, name: string, description: string): Command {
  return users
    .command(name)
    .description(description)
    .argument("<email>", "email of the user")
    .addOption(dataOption().makeOptionMandatory());
}

/** Adds a command that reads a password. */
function passwordAction(
  users: Command,
  name: string,
  description: string,
  work: (manager: UserManager, email: string, password: Awaited<ReturnType<typeof readPassword>>) => Promise<string>,
): void {
  userAction(users, name, description)
    .option("--password-file <file>", "file with the password in its first line (default: standard input)")
    .action(async (email: string, flags: PasswordFlags, command: Command) => {
      const password = await readPassword(flags.passwordFile);
      await manage(command, flags, (manager) => work(manager, email, password));
    });
}

function addStateCommands(users: Command): void {
  userAction(users, "revoke-tokens", "End all sessions, access tokens and refresh tokens of a user.").action(
    (email: string, flags: DataFlag, command: Command) =>
      manage(command, flags, async (manager) => `ended the sessions and tokens of ${await manager.revokeTokens(email)}`),
  );
  userAction(
    users,
    "disable",
    "Reject the logins of a user, and end all sessions and tokens. Secrets, files, teams and shares stay.",
  )
    .option("--yes", CONFIRM)
    .action((email: string, flags: ConfirmFlags, command: Command) =>
      manage(command, flags, async (manager) => {
        await manager.belongings(email);
        const question = `Disable ${email}? This ends all sessions and tokens.`;
        return (await confirm(question, flags, command)) ? `disabled ${await manager.disable(email)}` : undefined;
      }),
    );
  userAction(users, "enable", "Accept the logins of a disabled user again.").action(
    (email: string, flags: DataFlag, command: Command) =>
      manage(command, flags, async (manager) => `enabled ${await manager.enable(email)}`),
  );
}

function addHandOverCommand(users: Command): void {
  const handOver = userAction(
    users,
    "hand-over",
    "Make another user the creator of all teams that a user created, for example before the user is deleted.",
  ).argument("<to>", "email of the new creator");
  addHandOverOptions(handOver).action((email: string, to: string, flags: HandOverFlags, command: Command) => {
    if (flags.secrets === true) return handOverAll(email, to, flags, command);
    if (flags.renameSuffix !== undefined) return command.error("error: --rename-suffix requires --secrets");
    return manage(command, flags, async (manager) => {
      const count = await manager.handOverTeams(email, to);
      return `handed over ${count} ${count === 1 ? "team" : "teams"} to ${to}`;
    });
  });
}

function described({ secrets, files, teams }: Belongings): string {
  const parts = [`secrets: ${secrets}`, `files: ${files}`, `teams: ${teams}`];
  return parts.join(", ");
}

function addDeleteCommand(users: Command): void {
  userAction(
    users,
    "delete",
    "Delete a user with all secrets, files, shares and teams. Recipients lose what was shared with them. It cannot be undone.",
  )
    .option("--yes", CONFIRM)
    .action((email: string, flags: ConfirmFlags, command: Command) =>
      manage(command, flags, async (manager) => {
        const question = `Delete ${email} (${described(await manager.belongings(email))})? It cannot be undone.`;
        return (await confirm(question, flags, command)) ? `deleted ${await manager.delete(email)}` : undefined;
      }),
    );
}

function addListCommand(users: Command): void {
  users
    .command("list")
    .description("List the users, one email per line; disabled ones are marked after a tab.")
    .addOption(dataOption().makeOptionMandatory())
    .action(async (flags: DataFlag, command: Command) => {
      rejectPassword(command);
      await using store = await openExistingStore(flags.data);
      for (const { email, disabled } of await store.read(({ users: known }) => known.list())) {
        process.stdout.write(disabled ? `${email}\tdisabled\n` : `${email}\n`);
      }
    });
}

/** Adds `vaultsync vault user`. */
export function userCommand(parent: Command): void {
  const users = parent.command("user").description("Manage the users of a vault.");
  addListCommand(users);
  passwordAction(
    users,
    "add",
    "Add a user. The password is read from a file or from standard input.",
    async (manager, email, password) => `added ${await manager.add(email, password)}`,
  );
  passwordAction(
    users,
    "set-password",
    "Set the password of a user, and end all sessions and tokens. The user is notified by email.",
    async (manager, email, password) => `set the password of ${await manager.setPassword(email, password)}`,
  );
  addStateCommands(users);
  addHandOverCommand(users);
  addDeleteCommand(users);
}
