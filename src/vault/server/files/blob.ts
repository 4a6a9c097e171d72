import { createHash, randomUUID } from "node:crypto";
import type { VaultContext } from "../context.ts";
import { openBytes, sealBytes, type Identity } from "../crypto/aead.ts";
import type { Envelope } from "../crypto/envelope.ts";
import { newKey, type MasterKey } from "../crypto/master-key.ts";
import { freeBuffer } from "../free-buffer.ts";
import { longWork } from "../long-work.ts";
import { errors } from "../errors.ts";
import { requireFreeBytes } from "../protection/within-quota.ts";
import type { FileIdentity, FileVersion } from "../store/records.ts";
import type { Party } from "../store/store.ts";

/** Size of the chunks in which a file is sealed and stored. */
const CHUNK_BYTES = 256 * 1024;

/** The stored bytes of a file that are not yet a version. */
export interface StagedBlob {
  readonly id: string;
  readonly size: number;
  readonly sha256: string;
  /** Data key of the chunks; wrapped once the version is known. */
  readonly key: Uint8Array;
}

function chunkIdentity(blobId: string, index: number): Identity {
  return ["chunk", blobId, index];
}

/**
 * Returns the identity of the wrapped key and the digest. They are bound to name, version and size:
 * chunks can neither be swapped nor removed.
 */
export function blobIdentity(
  file: FileIdentity,
  version: number,
  blobId: string,
  size: number,
): Identity {
  return ["file", file.id, file.owner, file.name, version, blobId, size];
}

async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let filled = 0;
  for await (const piece of content) {
    for (let taken = 0; taken < piece.length;) {
      const part = piece.subarray(taken, taken + CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      taken += part.length;
      if (filled === CHUNK_BYTES) {
        yield chunk;
        filled = 0;
      }
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

/** Number of chunks between two checks of the account's quota. */
const CHUNKS_PER_CHECK = 16;

/**
 * Seals and stores content chunk by chunk under a new id; `staged` receives the id first: the
 * caller can then discard the blob.
 * @throws ServiceError `too_large`, `quota_exceeded`
 */
export async function stageBlob(
  context: VaultContext,
  owner: string,
  content: AsyncIterable<Uint8Array>,
  staged: (blobId: string) => void,
): Promise<StagedBlob> {
  const { store, clock, limits } = context;
  const id = randomUUID();
  const key = newKey();
  const hash = createHash("sha256");
  let size = 0;
  let index = 0;
  await store.write(({ files }) => files.stage(id, owner, clock.now()), { account: owner });
  staged(id);
  for await (const chunk of inChunks(content)) {
    longWork.noteUse();
    size += chunk.length;
    if (size > limits.fileBytes) throw errors.fileTooLarge(limits.fileBytes);
    hash.update(chunk);
    const sealed = sealBytes(key, chunkIdentity(id, index), chunk);
    const position = index;
    await store.write(({ files }) => files.putChunk(id, position, sealed), { account: owner });
    freeBuffer(sealed);
    if (index % CHUNKS_PER_CHECK === 0) await requireFreeBytes(context, owner);
    index += 1;
  }
  return { id, size, sha256: hash.digest("hex"), key };
}

/** Returns the wrapped key of a blob with its sealed digest. */
export function sealDigest(
  masterKey: MasterKey,
  file: FileIdentity,
  version: number,
  blob: StagedBlob,
): Envelope {
  const identity = blobIdentity(file, version, blob.id, blob.size);
  return {
    ...masterKey.wrap(blob.key, identity),
    sealed: sealBytes(blob.key, identity, Buffer.from(blob.sha256, "hex")),
  };
}

export interface OpenBlob {
  readonly key: Uint8Array;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** @throws Error when the row was altered or its master key is unknown */
export function openDigest(
  { keys }: Pick<VaultContext, "keys">,
  file: FileIdentity,
  version: FileVersion,
): OpenBlob {
  const identity = blobIdentity(file, version.version, version.blobId, version.size);
  const key = keys.get(version.digest.keyId).unwrap(version.digest, identity);
  return {
    key,
    sha256: Buffer.from(openBytes(key, identity, version.digest.sealed)).toString("hex"),
  };
}

/**
 * Yields the bytes of a version, chunk by chunk. @throws Error when a chunk was altered or removed
 */
export async function* readBlob(
  { store }: VaultContext,
  reader: Party,
  version: FileVersion,
  key: Uint8Array,
): AsyncGenerator<Uint8Array> {
  let remaining = version.size;
  for (let index = 0; remaining > 0; index += 1) {
    const position = index;
    const sealed = await store.readOne(
      ({ files }) => files.chunk(version.blobId, position),
      reader,
    );
    if (!sealed) throw new Error("a chunk of the file is missing");
    const plain = openBytes(key, chunkIdentity(version.blobId, index), sealed);
    freeBuffer(sealed);
    remaining -= plain.length;
    yield plain;
  }
}
