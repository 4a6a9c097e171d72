import type { Command, Option } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { UserManager, type Belongings } from "../server/accounts/manage-users.ts";
import type { KeyRing } from "../server/crypto/key-ring.ts";
import { checkData } from "../server/store/check-data.ts";
import { openStore } from "../server/store/open-store.ts";
import { RowMacs } from "../server/store/row-macs.ts";
import type { Store } from "../server/store/store.ts";
import { confirm } from "./confirm.ts";
import { readPassword } from "./read-password.ts";
import { addHandOverOptions, handOverAll, type HandOverFlags } from "./hand-over.ts";
import { dataOption, openExistingStore, rejectPassword } from "./data-option.ts";
import { masterKeyCommandOption } from "./master-key-command.ts";
import { masterKeys, masterKeysOption, type MasterKeyFlags } from "./master-keys-option.ts";

interface DataFlag {
  readonly data: string;
}

/** Flags of a command that writes rights, which the master key authenticates. */
interface KeyFlags extends DataFlag, MasterKeyFlags {}

interface PasswordFlags extends KeyFlags {
  readonly passwordFile?: string;
}

interface ConfirmFlags extends DataFlag {
  readonly yes?: boolean;
}

const CONFIRM = "do not ask for confirmation";

/**
 * Returns the master keys of a command that writes rights. Without any, ends with a usage error.
 */
function requireKeys(flags: KeyFlags, command: Command): KeyRing {
  const keys = masterKeys(flags);
  if (keys) return keys;
  return command.error(
    "error: specify the master key of the data with --master-key-file FILE or --master-key-command: servers ignore passwords and teams that it does not authenticate",
  );
}

/** Opens the store, with the keys if the command writes rights. Only `add` creates a store. */
async function open(
  command: Command,
  { data }: DataFlag,
  keys: KeyRing | undefined,
): Promise<Store> {
  const macs = keys && new RowMacs(keys);
  await using opening = new AsyncDisposableStack();
  const store = opening.use(
    await (command.name() === "add" ? openStore(data, macs) : openExistingStore(data, macs)),
  );
  if (keys) {
    await checkData(store, keys, { allowMissing: true, logger: silentLogger });
  }
  opening.move();
  return store;
}

/** Opens the store, runs `work` and reports what it returns. */
async function manage(
  command: Command,
  flags: DataFlag,
  work: (users: UserManager) => Promise<string | undefined>,
  keys?: KeyRing,
): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  await using store = await open(command, flags, keys);
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

function keyOption(): Option {
  return masterKeysOption(
    "file with the master key of the data, which authenticates passwords and teams",
  );
}

/** Adds a command that reads a password. */
function passwordAction(
  users: Command,
  name: string,
  description: string,
  work: (
    manager: UserManager,
    email: string,
    password: Awaited<ReturnType<typeof readPassword>>,
  ) => Promise<string>,
): void {
  userAction(users, name, description)
    .addOption(keyOption())
    .addOption(masterKeyCommandOption())
    .option(
      "--password-file <file>",
      "file with the password in its first line (default: standard input)",
    )
    .action(async (email: string, flags: PasswordFlags, command: Command) => {
      const keys = requireKeys(flags, command);
      const password = await readPassword(flags.passwordFile);
      await manage(command, flags, (manager) => work(manager, email, password), keys);
    });
}

function addStateCommands(users: Command): void {
  userAction(
    users,
    "revoke-tokens",
    "End all sessions, access tokens and refresh tokens of a user.",
  ).action((email: string, flags: DataFlag, command: Command) =>
    manage(
      command,
      flags,
      async (manager) => `ended the sessions and tokens of ${await manager.revokeTokens(email)}`,
    ),
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
        return (await confirm(question, flags, command))
          ? `disabled ${await manager.disable(email)}`
          : undefined;
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
  )
    .argument("<to>", "email of the new creator")
    .addOption(keyOption())
    .addOption(masterKeyCommandOption());
  addHandOverOptions(handOver).action(
    (email: string, to: string, flags: HandOverFlags & KeyFlags, command: Command) => {
      if (flags.secrets === true) return handOverAll(email, to, flags, command);
      if (flags.renameSuffix !== undefined)
        return command.error("error: --rename-suffix requires --secrets");
      const work = async (manager: UserManager): Promise<string> => {
        const count = await manager.handOverTeams(email, to);
        return `handed over ${count} ${count === 1 ? "team" : "teams"} to ${to}`;
      };
      return manage(command, flags, work, requireKeys(flags, command));
    },
  );
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
        return (await confirm(question, flags, command))
          ? `deleted ${await manager.delete(email)}`
          : undefined;
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
    async (manager, email, password) =>
      `set the password of ${await manager.setPassword(email, password)}`,
  );
  addStateCommands(users);
  addHandOverCommand(users);
  addDeleteCommand(users);
}
