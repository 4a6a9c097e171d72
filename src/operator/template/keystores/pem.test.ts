import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { der, integer, octets, oid, sequence } from "./der.ts";
import { parsePrivateKey } from "./pem.ts";

/** A number of this many bytes that is no power of two. */
const large = (size: number): Buffer => der(0x02, Buffer.alloc(size, 0x7b));

/**
 * Returns a key in PKCS#8 whose public key is a power modulo a number of 1 KiB: OpenSSL takes 0.1 s
 * to compute it.
 */
function keyOf(algorithm: string): Buffer {
  const parameters = sequence(large(1024), large(1023), large(1023));
  return sequence(integer(0), sequence(oid(algorithm), parameters), octets(large(1022)));
}

describe("parsePrivateKey", () => {
  test.each([
    ["DSA", "1.2.840.10040.4.1"],
    ["Diffie-Hellman", "1.2.840.113549.1.3.1"],
    ["Diffie-Hellman of X9.42", "1.2.840.10046.2.1"],
  ])("rejects a key of %s without reading it", (_, algorithm) => {
    expect(() => parsePrivateKey(keyOf(algorithm), "pkcs8")).toThrow(
      "private keys of DSA and Diffie-Hellman are not supported",
    );
  });

  test("rejects a key of more than 12 KiB without reading it", () => {
    expect(() => parsePrivateKey(Buffer.alloc(12_289), "pkcs8")).toThrow(
      "the private key is too long",
    );
  });

  test("reads keys of RSA, elliptic curves and Edwards curves", () => {
    const keys = [
      generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey,
      generateKeyPairSync("ed25519").privateKey,
    ];
    for (const key of keys) {
      expect(
        parsePrivateKey(key.export({ type: "pkcs8", format: "der" }), "pkcs8").equals(key),
      ).toBe(true);
    }
  });
});
