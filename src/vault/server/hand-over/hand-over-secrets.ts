import { randomUUID } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import { currentKey } from "../store/current-key.ts";
import type { Secret, StoredFile } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import {
  checkHandOver,
  type HandOverPlan,
  nameAtNewOwner,
  requireDisabled,
} from "./check-hand-over.ts";
import { resealFile, resealSecret, UnreadableRecordError, type ResealKeys } from "./reseal.ts";

/**
 * Records and bytes of values of one transaction: writers wait only milliseconds for so few. A
 * larger secret has a separate transaction.
 */
const BATCH_RECORDS = 20;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Maximum number of versions that are counted to know whether a secret is large. */
const COUNTED_ROWS = 1000;
/** Pause after each transaction as a multiple of its duration, in which others can write. */
const YIELD_FACTOR = 2;

export interface HandOver extends HandOverPlan {
  readonly store: Store;
  readonly clock: Clock;
  readonly progress: (done: number) => void;
}

/** A secret or file, as named at its former and its new owner. */
interface Moved {
  readonly kind: "secret" | "file";
  readonly name: string;
  readonly newName: string;
}

export interface HandOverResult {
  readonly secrets: number;
  readonly files: number;
  readonly renamed: readonly Moved[];
  /** Names of those that cannot be opened; they stay with the former owner. */
  readonly unreadable: readonly Pick<Moved, "kind" | "name">[];
}

/** A place in the order of ids, up to which everything is handed over or skipped. */
interface Batch {
  readonly moved: readonly Moved[];
  readonly skipped: readonly Pick<Moved, "kind" | "name">[];
  /** `undefined` at the end. */
  readonly after: string | undefined;
}

interface Work extends HandOver {
  readonly now: number;
  /** Ids of records that cannot be opened. */
  readonly unreadable: ReadonlySet<string>;
}

async function moveSecret(
  transaction: Transaction,
  keys: ResealKeys,
  work: Work,
  secret: Secret,
): Promise<Moved> {
  const { secrets, grants, handOver } = transaction;
  const { to, now } = work;
  const newName = await nameAtNewOwner(
    transaction,
    work,
    { kind: "secret", name: secret.name },
    now,
  );
  // One past its deadline may still occupy the name.
  const due = await secrets.dueNamed(to, newName, now);
  if (due !== undefined) await secrets.retire(due);
  await resealSecret(keys, transaction, secret, { ...secret, owner: to, name: newName });
  // An owner needs no share; with one the secret would stay shared.
  await grants.revoke(secret.id, [{ kind: "person", email: to }]);
  await grants.sealFor(secret, { ...secret, owner: to, name: newName });
  await handOver.moveSecret(secret.id, to, newName);
  return { kind: "secret", name: secret.name, newName };
}

async function moveFile(
  transaction: Transaction,
  keys: ResealKeys,
  work: Work,
  file: StoredFile,
): Promise<Moved> {
  const newName = await nameAtNewOwner(
    transaction,
    work,
    { kind: "file", name: file.name },
    work.now,
  );
  await resealFile(keys, transaction, file, { ...file, owner: work.to, name: newName });
  await transaction.handOver.moveFile(file.id, work.to, newName);
  return { kind: "file", name: file.name, newName };
}

/**
 * Hands over the next records of one kind. @throws UnreadableRecordError before anything of the
 * batch has changed
 */
async function moveBatch(
  transaction: Transaction,
  work: Work,
  kind: Moved["kind"],
  after: string,
): Promise<Batch> {
  const { secrets, handOver } = transaction;
  await requireDisabled(transaction, work.from);
  const keys = { keys: work.keys, current: await currentKey(work.keys, transaction) };
  const moved: Moved[] = [];
  const skipped: Pick<Moved, "kind" | "name">[] = [];
  let last = after;
  let bytesLeft = BATCH_BYTES;
  const isFull = async (id: string): Promise<boolean> => {
    bytesLeft -= (await secrets.sizeUpTo(id, COUNTED_ROWS)).bytes;
    return moved.length > 0 && bytesLeft < 0;
  };
  const records =
    kind === "secret"
      ? (await handOver.secrets(work.from, work.now, after, BATCH_RECORDS)).map((secret) => ({
          kind,
          ...secret,
        }))
      : (await handOver.files(work.from, after, BATCH_RECORDS)).map((file) => ({
          kind: "file" as const,
          ...file,
        }));
  for (const record of records) {
    if (work.unreadable.has(record.id)) skipped.push({ kind, name: record.name });
    else if (record.kind === "file") moved.push(await moveFile(transaction, keys, work, record));
    else if (await isFull(record.id)) return { moved, skipped, after: last };
    else moved.push(await moveSecret(transaction, keys, work, record));
    last = record.id;
  }
  return { moved, skipped, after: records.length === 0 ? undefined : last };
}

/** Queues the lines of the audit log for a server to write. */
async function recordActions(
  { adminActions }: Transaction,
  { from, to, now }: Work,
): Promise<void> {
  await adminActions.insert({
    id: randomUUID(),
    at: now,
    action: "hand-over-secrets",
    email: from,
  });
  await adminActions.insert({ id: randomUUID(), at: now, action: "receive-secrets", email: to });
}

/**
 * Hands over all secrets and files of a disabled user with their versions and shares. Each value is
 * sealed again for the new owner, in small transactions; an interrupted hand-over is completed by
 * calling this again. Records that cannot be opened are skipped.
 * @throws Error before anything is handed over, when users, names, quotas or keys are not as
 *   needed; later, when the former user is enabled, or the new one creates a name that is still to
 *   be handed over
 */
export async function handOverSecrets(handOver: HandOver): Promise<HandOverResult> {
  const { store, clock, progress } = handOver;
  await store.read((transaction) => checkHandOver(transaction, handOver, clock.now()));
  const unreadable = new Set<string>();
  const moved: Moved[] = [];
  const skipped: Pick<Moved, "kind" | "name">[] = [];
  for (const kind of ["secret", "file"] as const) {
    for (let after: string | undefined = ""; after !== undefined;) {
      const [from, work] = [after, { ...handOver, now: clock.now(), unreadable }];
      const startedAt = clock.monotonic();
      try {
        const batch: Batch = await store.write(async (transaction) => {
          const done = await moveBatch(transaction, work, kind, from);
          if (moved.length === 0 && done.moved.length > 0) await recordActions(transaction, work);
          return done;
        });
        moved.push(...batch.moved);
        skipped.push(...batch.skipped);
        after = batch.after;
        progress(moved.length);
      } catch (error) {
        if (!(error instanceof UnreadableRecordError)) throw error;
        unreadable.add(error.id);
      }
      await clock.sleep(YIELD_FACTOR * (clock.monotonic() - startedAt));
    }
  }
  // Overwrites remaining copies of the former seals.
  if (moved.length > 0) await store.scrub();
  const count = (kind: Moved["kind"]): number => moved.filter((one) => one.kind === kind).length;
  const renamed = moved.filter(({ name, newName }) => name !== newName);
  return { secrets: count("secret"), files: count("file"), renamed, unreadable: skipped };
}
