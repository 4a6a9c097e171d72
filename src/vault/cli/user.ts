import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import type { KeyRing } from "../server/crypto/key-ring.ts";
import { handOverSecrets, type HandOverResult } from "../server/hand-over/hand-over-secrets.ts";
import { defaultQuotas, type Quotas } from "../server/limits.ts";
import type { Store } from "../server/store/store.ts";
import { confirm } from "../../command-line/confirm.ts";
import { progressLine, readPassword } from "./terminal.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { Redacted } from "../../lib/redacted.ts";
import { UserManager, type Belongings } from "../server/accounts/manage-users.ts";
import { checkData } from "../server/store/check-data.ts";
import { openForCommand, openExistingStore } from "../server/store/open-store.ts";
import { RowMacs } from "../server/store/row-macs.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { masterKeys } from "./master-keys.ts";

function report({ secrets, files, renamed, unreadable }: HandOverResult, to: string): void {
  for (const { kind, name, newName } of renamed) {
    process.stderr.write(
      `renamed the ${kind} ${JSON.stringify(name)} to ${JSON.stringify(newName)}\n`,
    );
  }
  for (const { kind, name } of unreadable) {
    process.stderr.write(
      `skipped the ${kind} ${JSON.stringify(name)}: a version cannot be opened with the given master keys\n`,
    );
  }
  process.stderr.write(`handed over secrets: ${secrets}, files: ${files} to ${to}\n`);
}

interface HandOver {
  readonly store: Store;
  readonly keys: KeyRing;
  /** Emails of the former and of the new owner. */
  readonly from: string;
  readonly to: string;
  readonly quotas: Quotas | undefined;
  readonly renameSuffix: string | undefined;
}

/**
 * Hands over secrets and files, and reports them. If one could not be read, the process ends with
 * exit code 1.
 */
export async function handOverBelongings({
  from,
  to,
  quotas = defaultQuotas,
  ...rest
}: HandOver): Promise<void> {
  const line = progressLine(systemClock);
  const result = await handOverSecrets({
    ...rest,
    clock: systemClock,
    from: canonicalEmail(from),
    to: canonicalEmail(to),
    quotas,
    progress: (done) => line(`handed over so far: ${done}`),
  });
  report(result, to);
  if (result.unreadable.length > 0) process.exitCode = 1;
}

export interface DataFlags {
  readonly data: string;
}

/** Flags of a command that writes rights authenticated by the master key. */
interface KeyFlags extends DataFlags, MasterKeyFlags {}

export interface PasswordFlags extends KeyFlags {
  readonly passwordFile?: string;
}

export interface ConfirmFlags extends DataFlags {
  readonly yes?: boolean;
}

export interface HandOverFlags extends KeyFlags {
  readonly secrets?: boolean;
  readonly renameSuffix?: string;
  readonly quotas?: Quotas;
}

/**
 * Returns the master keys of a command that writes rights. Without any, ends with a usage error.
 */
export function requireKeys(flags: KeyFlags, command: Command): KeyRing {
  const keys = masterKeys(flags);
  if (keys) return keys;
  return command.error(
    "error: specify the master key of the data with --master-key-file FILE or --master-key-command: servers ignore passwords and teams that it does not authenticate",
  );
}

/** Opens the store, with the keys if the command writes rights. Only `add` creates a store. */
async function open(
  command: Command,
  { data }: DataFlags,
  keys: KeyRing | undefined,
): Promise<Store> {
  const macs = keys && new RowMacs(keys);
  await using opening = new AsyncDisposableStack();
  const store = opening.use(
    await (command.name() === "add" ? openForCommand(data, macs) : openExistingStore(data, macs)),
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
  flags: DataFlags,
  work: (users: UserManager, store: Store) => Promise<string | undefined>,
  keys?: KeyRing,
): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  await using store = await open(command, flags, keys);
  const done = await work(new UserManager(store, systemClock), store);
  if (done !== undefined) process.stderr.write(`${done}\n`);
}

/** Prints one email per line. */
export async function listUsers(flags: DataFlags, command: Command): Promise<void> {
  rejectPassword(command);
  await using store = await openExistingStore(flags.data);
  for (const { email, disabled } of await store.read(({ users: known }) => known.list())) {
    process.stdout.write(disabled ? `${email}\tdisabled\n` : `${email}\n`);
  }
}

/** Runs `work` with the master key and the password that the user gives, and reports the result. */
async function managePassword(
  flags: PasswordFlags,
  command: Command,
  work: (users: UserManager, password: Redacted<string>) => Promise<string>,
): Promise<void> {
  const keys = requireKeys(flags, command);
  const password = await readPassword(flags.passwordFile);
  await manage(command, flags, (users) => work(users, password), keys);
}

export async function addUser(
  email: string,
  flags: PasswordFlags,
  command: Command,
): Promise<void> {
  await managePassword(
    flags,
    command,
    async (users, password) => `added ${await users.add(email, password)}`,
  );
}

export async function setPassword(
  email: string,
  flags: PasswordFlags,
  command: Command,
): Promise<void> {
  await managePassword(
    flags,
    command,
    async (users, password) => `set the password of ${await users.setPassword(email, password)}`,
  );
}

export async function revokeTokens(
  email: string,
  flags: DataFlags,
  command: Command,
): Promise<void> {
  await manage(
    command,
    flags,
    async (users) => `ended the sessions and tokens of ${await users.revokeTokens(email)}`,
  );
}

export async function disableUser(
  email: string,
  flags: ConfirmFlags,
  command: Command,
): Promise<void> {
  await manage(command, flags, async (users) => {
    await users.belongings(email);
    const question = `Disable ${email}? This ends all sessions and tokens.`;
    return (await confirm(question, flags, command))
      ? `disabled ${await users.disable(email)}`
      : undefined;
  });
}

export async function enableUser(email: string, flags: DataFlags, command: Command): Promise<void> {
  await manage(command, flags, async (users) => `enabled ${await users.enable(email)}`);
}

/** Hands over the teams of a user; with `--secrets`, secrets and files as well. */
export async function handOver(
  email: string,
  to: string,
  flags: HandOverFlags,
  command: Command,
): Promise<void> {
  const { secrets = false, renameSuffix, quotas } = flags;
  if (!secrets && renameSuffix !== undefined)
    return command.error("error: --rename-suffix requires --secrets");
  const keys = requireKeys(flags, command);
  const work = async (users: UserManager, store: Store): Promise<string> => {
    if (secrets) await handOverBelongings({ store, keys, from: email, to, quotas, renameSuffix });
    const count = await users.handOverTeams(email, to);
    return `handed over ${count} ${count === 1 ? "team" : "teams"} to ${to}`;
  };
  await manage(command, flags, work, keys);
}

function described({ secrets, files, teams }: Belongings): string {
  const parts = [`secrets: ${secrets}`, `files: ${files}`, `teams: ${teams}`];
  return parts.join(", ");
}

export async function deleteUser(
  email: string,
  flags: ConfirmFlags,
  command: Command,
): Promise<void> {
  await manage(command, flags, async (users) => {
    const question = `Delete ${email} (${described(await users.belongings(email))})? It cannot be undone.`;
    return (await confirm(question, flags, command))
      ? `deleted ${await users.delete(email)}`
      : undefined;
  });
}
