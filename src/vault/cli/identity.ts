import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { IdentityManager } from "../server/identities/manage-identities.ts";
import { checkData } from "../server/store/check-data.ts";
import { RowMacs } from "../server/store/row-macs.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { type DataFlags, requireKeys } from "./user.ts";
import { openExistingStore } from "../server/store/open-store.ts";

/** Flags that name one identity. */
export interface IdentityRefFlags extends DataFlags {
  readonly issuer: string;
  /** The subject of the ServiceAccount. */
  readonly serviceAccount?: string;
  readonly subject?: string;
}

export interface AddIdentityFlags extends IdentityRefFlags, MasterKeyFlags {
  readonly scope: string;
}

function subjectOf({ serviceAccount, subject }: IdentityRefFlags, command: Command): string {
  return (
    serviceAccount ??
    subject ??
    command.error("error: specify the identity with --service-account or --subject")
  );
}

export async function addIdentity(
  email: string,
  flags: AddIdentityFlags,
  command: Command,
): Promise<void> {
  rejectPassword(command);
  const subject = subjectOf(flags, command);
  const keys = requireKeys(flags, command);
  await using store = await openExistingStore(flags.data, new RowMacs(keys));
  await checkData(store, keys, { allowMissing: true, logger: silentLogger });
  const { issuer, scope } = flags;
  const added = await new IdentityManager(store, systemClock).add({
    email,
    issuer,
    subject,
    scope,
  });
  process.stderr.write(`${subject} of ${issuer} may log in to ${added.email}\n`);
}

/** Prints one identity per line. */
export async function listIdentities(flags: DataFlags, command: Command): Promise<void> {
  rejectPassword(command);
  await using store = await openExistingStore(flags.data);
  for (const { email, issuer, subject, scope } of await new IdentityManager(
    store,
    systemClock,
  ).list())
    process.stdout.write(`${email}\t${issuer}\t${subject}\t${scope}\n`);
}

export async function removeIdentity(flags: IdentityRefFlags, command: Command): Promise<void> {
  rejectPassword(command);
  const subject = subjectOf(flags, command);
  await using store = await openExistingStore(flags.data);
  const { issuer } = flags;
  const removed = await new IdentityManager(store, systemClock).remove({ issuer, subject });
  process.stderr.write(`${subject} of ${issuer} may no longer log in to ${removed.email}\n`);
}
