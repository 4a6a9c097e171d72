import { type Command, Option } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { UserManager } from "../server/accounts/manage-users.ts";
import { handOverSecrets, type HandOverResult } from "../server/hand-over/hand-over-secrets.ts";
import { defaultQuotas, type Quotas } from "../server/limits.ts";
import { RowMacs } from "../server/store/row-macs.ts";
import { progressLine } from "./progress-line.ts";
import { openExistingStore, rejectPassword } from "./data-option.ts";
import { masterKeys, type MasterKeyFlags } from "./master-keys-option.ts";
import { quotasOption } from "./quota-option.ts";

/** Flags of `vaultsync vault user hand-over`. */
export interface HandOverFlags extends MasterKeyFlags {
  readonly data: string;
  readonly secrets?: boolean;
  readonly renameSuffix?: string;
  readonly quotas?: Quotas;
}

const HELP = `
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

/** Adds the options that hand over more than teams. */
export function addHandOverOptions(command: Command): Command {
  return command
    .option("--secrets", "hand over secrets and files as well")
    .addOption(
      new Option(
        "--rename-suffix <text>",
        "appended to names that the new owner has too, instead of failing",
      ),
    )
    .addOption(quotasOption())
    .addHelpText("after", HELP);
}

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

/** Hands over secrets, files and teams. Without a master key, ends with a usage error. */
export async function handOverAll(
  email: string,
  to: string,
  flags: HandOverFlags,
  command: Command,
): Promise<void> {
  rejectPassword(command);
  process.umask(0o077);
  const keys = masterKeys(flags);
  if (!keys)
    return command.error(
      "error: --secrets requires the master key: specify it with --master-key-file FILE or --master-key-command",
    );
  await using store = await openExistingStore(flags.data, new RowMacs(keys));
  const line = progressLine(systemClock);
  const result = await handOverSecrets({
    store,
    keys,
    clock: systemClock,
    from: canonicalEmail(email),
    to: canonicalEmail(to),
    quotas: flags.quotas ?? defaultQuotas,
    renameSuffix: flags.renameSuffix,
    progress: (done) => line(`handed over so far: ${done}`),
  });
  report(result, to);
  const teams = await new UserManager(store, systemClock).handOverTeams(email, to);
  process.stderr.write(`handed over ${teams} ${teams === 1 ? "team" : "teams"} to ${to}\n`);
  if (result.unreadable.length > 0) process.exitCode = 1;
}
