import { createHash, createHmac, randomBytes } from "node:crypto";

/**
 * The only form in which the demo prints a value: its length, and a digest that is comparable only
 * within this run.
 */
export interface Fingerprint {
  readonly bytes: number;
  readonly digest: string;
  /**
   * The SHA-256 of a file. Never printed for a secret: a plain hash of a short value can be
   * guessed.
   */
  readonly sha256: string;
}

const runKey = randomBytes(32);

/** Returns the fingerprint of a value; equal values have equal fingerprints within one run. */
export function fingerprint(value: string | Uint8Array): Fingerprint {
  return {
    bytes: Buffer.byteLength(value),
    digest: createHmac("sha256", runKey).update(value).digest("hex").slice(0, 12),
    sha256: createHash("sha256").update(value).digest("hex"),
  };
}

export const isEqual = (a: Fingerprint | undefined, b: Fingerprint | undefined): boolean =>
  a !== undefined && b !== undefined && a.bytes === b.bytes && a.digest === b.digest;

export const formatFingerprint = ({ bytes, digest }: Fingerprint): string =>
  `${bytes} bytes, digest ${digest}`;
