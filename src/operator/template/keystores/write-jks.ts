import { hash } from "node:crypto";
import { NULL, octets, oid, sequence } from "./der.ts";
import type { Entries } from "./write-pkcs12.ts";
import type { X509Certificate } from "node:crypto";

/** Algorithm of Sun that protects the keys of a JKS keystore. */
const KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1";
const PRIVATE_KEY = 1;
const TRUSTED = 2;

interface Protection {
  readonly password: string;
  /** Returns 20 bytes. */
  readonly salt: (purpose: string, size: number) => Uint8Array;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const size = Buffer.alloc(2);
  size.writeUInt16BE(bytes.length);
  return Buffer.concat([size, bytes]);
}

/** The date of an entry: the certificate's date, because equal input has equal output. */
function date({ validFromDate }: X509Certificate): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(validFromDate.getTime()));
  return bytes;
}

const certificateBytes = ({ raw }: X509Certificate): Buffer =>
  Buffer.concat([text("X.509"), uint32(raw.length), raw]);

/**
 * Encrypts a key as `sun.security.provider.KeyProtector` does: with a stream of SHA-1 digests of
 * the password.
 */
function protect(key: Uint8Array, password: Buffer, salt: Uint8Array): Buffer {
  const encrypted = Buffer.alloc(key.byteLength);
  let digest: Uint8Array = salt;
  for (let at = 0; at < key.byteLength; at += 1) {
    if (at % 20 === 0) digest = hash("sha1", Buffer.concat([password, digest]), "buffer");
    encrypted[at] = (key[at] ?? 0) ^ (digest[at % 20] ?? 0);
  }
  const check = hash("sha1", Buffer.concat([password, key]), "buffer");
  return sequence(
    sequence(oid(KEY_PROTECTOR), NULL),
    octets(Buffer.concat([salt, encrypted, check])),
  );
}

/**
 * Returns a keystore in Java's format JKS. Its encryption is weak by design; PKCS#12 is the better
 * choice where Java allows it.
 */
export function writeJks(entries: Entries, { password, salt }: Protection): Buffer {
  const secret = Buffer.from(password, "utf16le").swap16();
  const parts: Buffer[] = [uint32(0xfeedfeed), uint32(2)];
  if ("key" in entries) {
    const { chain, key, name } = entries;
    const [leaf] = chain;
    const encrypted = protect(
      key.export({ type: "pkcs8", format: "der" }),
      secret,
      salt("jks", 20),
    );
    parts.push(
      uint32(1),
      uint32(PRIVATE_KEY),
      text(name.toLowerCase()),
      leaf ? date(leaf) : Buffer.alloc(8),
    );
    parts.push(
      uint32(encrypted.length),
      encrypted,
      uint32(chain.length),
      ...chain.map(certificateBytes),
    );
  } else {
    parts.push(uint32(entries.trusted.length));
    for (const [index, certificate] of entries.trusted.entries()) {
      parts.push(
        uint32(TRUSTED),
        text(`ca-${index + 1}`),
        date(certificate),
        certificateBytes(certificate),
      );
    }
  }
  const store = Buffer.concat(parts);
  return Buffer.concat([
    store,
    hash("sha1", Buffer.concat([secret, Buffer.from("Mighty Aphrodite"), store]), "buffer"),
  ]);
}
