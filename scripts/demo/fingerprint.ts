import { createHash, createHmac, randomBytes } from "node:crypto";

/** All that the demo prints of a value: how long it is, and a digest that only compares within this run. */
export interface Fingerprint {
  readonly bytes: number;
  readonly digest: string;
  /** Of a file: what `sha256sum` prints. Never shown of a secret, because a plain hash of a short value can be guessed. */
  readonly sha256: string;
}

const runKey = randomBytes(32);

export function fingerprint(value: string | Uint8Array): Fingerprint {
  return {
    bytes: Buffer.byteLength(value),
    digest: createHmac("sha256", runKey).update(value).digest("hex").slice(0, 12),
    sha256: createHash("sha256").update(value).digest("hex"),
  };
}

export const equal = (a: Fingerprint | undefined, b: Fingerprint | undefined): boolean =>
  a !== undefined && b !== undefined && a.bytes === b.bytes && a.digest === b.digest;

export const showPrint = ({ bytes, digest }: Fingerprint): string => `${bytes} bytes, digest ${digest}`;
