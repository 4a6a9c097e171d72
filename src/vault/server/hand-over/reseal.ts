import type { KeyRing } from "../crypto/key-ring.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { openEnvelope, sealEnvelope } from "../crypto/envelope.ts";
import { openDigest, sealDigest } from "../files/blob.ts";
import { valueIdentity } from "../secrets/secret-value.ts";
import { allPages } from "../store/all-pages.ts";
import type { FileIdentity, SecretIdentity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/**
 * A version of a secret or file cannot be opened: its row was altered, or its master key is lost.
 */
export class UnreadableRecordError extends Error {
  override readonly name = "UnreadableRecordError";
  readonly id: string;

  constructor(id: string, cause: unknown) {
    super("a version cannot be opened", { cause });
    this.id = id;
  }
}

function readable<T>(id: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw new UnreadableRecordError(id, error);
  }
}

/** Keys that open what is stored, and the one that seals it again. */
export interface ResealKeys {
  readonly keys: KeyRing;
  readonly current: MasterKey;
}

/** Number of versions whose metadata, or numbers, one statement reads. */
const PAGE = 100;

/**
 * Seals every value of a secret for its new owner and name, one at a time. @throws
 * UnreadableRecordError
 */
export async function resealSecret(
  { keys, current }: ResealKeys,
  transaction: Transaction,
  from: SecretIdentity,
  to: SecretIdentity,
): Promise<void> {
  const { secrets, handOver } = transaction;
  for (let page = await secrets.versions(from.id, 0, PAGE); page.length > 0;) {
    for (const { version } of page) {
      const value = await secrets.value(from.id, version);
      if (!value) throw new UnreadableRecordError(from.id, undefined);
      const plain = readable(from.id, () =>
        openEnvelope(keys, valueIdentity(from, version), value),
      );
      const sealed = sealEnvelope(current, valueIdentity(to, version), plain);
      plain.fill(0);
      await handOver.replaceValue(from.id, version, sealed);
    }
    page = await secrets.versions(from.id, page.at(-1)?.version ?? 0, PAGE);
  }
}

/**
 * Seals the digest of every version of a file for its new owner and name; the bytes are sealed for
 * neither. @throws UnreadableRecordError
 */
export async function resealFile(
  { keys, current }: ResealKeys,
  transaction: Transaction,
  from: FileIdentity,
  to: FileIdentity,
): Promise<void> {
  const { files, handOver } = transaction;
  const numbers = await allPages(PAGE, (after: number | undefined) =>
    files.versions(from.id, after ?? 0, PAGE),
  );
  for (const number of numbers) {
    const version = await files.version(from.id, number);
    if (!version) throw new UnreadableRecordError(from.id, undefined);
    const { key, sha256 } = readable(from.id, () => openDigest({ keys }, from, version));
    const sealed = sealDigest(current, to, number, {
      id: version.blobId,
      size: version.size,
      sha256,
      key,
    });
    key.fill(0);
    await handOver.replaceDigest(from.id, number, sealed);
  }
}
