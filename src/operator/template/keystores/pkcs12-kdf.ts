import { hash } from "node:crypto";

/** Hashes that PKCS#12 uses, with the sizes of their blocks and results in bytes. */
const SIZES = { sha1: [64, 20], sha256: [64, 32], sha384: [128, 48], sha512: [128, 64] } as const;
export type KdfHash = keyof typeof SIZES;

/** Returns the size of a hash, in bytes. */
export const hashSize = (algorithm: KdfHash): number => SIZES[algorithm][1];

/** Purposes of a derived key (RFC 7292, appendix B.3). */
export const PURPOSE = { key: 1, iv: 2, mac: 3 } as const;

/** Returns the password as big-endian UTF-16 with a final zero. */
function bmpPassword(password: string): Buffer {
  return Buffer.from(`${password}\0`, "utf16le").swap16();
}

function repeated(bytes: Uint8Array, block: number): Buffer {
  return Buffer.alloc(Math.ceil(bytes.byteLength / block) * block, bytes);
}

/** Adds `addend + 1` to the block at `at`, as big-endian numbers. */
function addTo(target: Buffer, at: number, addend: Buffer): void {
  let carry = 1;
  for (let index = addend.length - 1; index >= 0; index -= 1) {
    carry += (target[at + index] ?? 0) + (addend[index] ?? 0);
    target[at + index] = carry % 256;
    carry = Math.floor(carry / 256);
  }
}

/** Derives `size` bytes from a password as RFC 7292, appendix B.2, describes. */
export function pkcs12Kdf(
  algorithm: KdfHash,
  purpose: number,
  {
    password,
    salt,
    iterations,
  }: { readonly password: string; readonly salt: Uint8Array; readonly iterations: number },
  size: number,
): Buffer {
  const [block, length] = SIZES[algorithm];
  const diversifier = Buffer.alloc(block, purpose);
  const input = Buffer.concat([repeated(salt, block), repeated(bmpPassword(password), block)]);
  const parts: Buffer[] = [];
  for (let done = 0; done < size; done += length) {
    let digest = hash(algorithm, Buffer.concat([diversifier, input]), "buffer");
    for (let round = 1; round < iterations; round += 1) digest = hash(algorithm, digest, "buffer");
    parts.push(digest);
    const addend = Buffer.alloc(block, digest);
    for (let at = 0; at < input.length; at += block) addTo(input, at, addend);
  }
  return Buffer.concat(parts).subarray(0, size);
}
