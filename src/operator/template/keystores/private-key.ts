import { createPrivateKey, type KeyObject } from "node:crypto";
import { TemplateFault } from "../template-fault.ts";

/** Maximum size of a private key in DER: one of RSA with 16,384 bits has some 9,300 bytes. */
const MAX_BYTES = 12_288;

/**
 * Identifiers of DSA, and of Diffie-Hellman in two standards. OpenSSL computes the public key when
 * it reads such a key: with a prime of 4 KiB that takes 11 s, and 64 times as long with one four
 * times as large. No server uses them.
 */
const SLOW = ["2a8648ce380401", "2a864886f70d010301", "2a8648ce3e0201"].map((hex) =>
  Buffer.from(hex, "hex"),
);

/**
 * Reads a private key in DER, of RSA or elliptic curves for example. @throws TemplateFault, without
 * a word about its content
 */
export function parsePrivateKey(der: Uint8Array, type: "pkcs8" | "pkcs1" | "sec1"): KeyObject {
  const bytes = Buffer.from(der);
  if (bytes.byteLength > MAX_BYTES) throw new TemplateFault("the private key is too long");
  if (SLOW.some((identifier) => bytes.includes(identifier))) {
    throw new TemplateFault(
      "private keys of DSA and Diffie-Hellman are not supported: use RSA, or an elliptic curve",
    );
  }
  try {
    return createPrivateKey({ key: bytes, format: "der", type });
  } catch {
    throw new TemplateFault("the private key cannot be read");
  }
}
