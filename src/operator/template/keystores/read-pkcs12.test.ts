import { describe, expect, test } from "vitest";
import { chainPem } from "../../../../test/lab/template/keystores.ts";
import { rendered, renderedBytes } from "../../../../test/lab/template/render.ts";
import { Budget, MAX_UNITS } from "../budget.ts";
import { der, integer, NULL, octets, oid, sequence, tagged, OID } from "./der.ts";
import { certificatesIn } from "./pem.ts";
import { readPkcs12 } from "./read-pkcs12.ts";

const data = (content: Buffer): Buffer => sequence(oid(OID.data), tagged(0, octets(content)));

/** Returns a keystore with these parts, whose MAC has this digest and salt. */
function keystore(parts: readonly Buffer[], digest: Buffer, salt: Buffer, iterations = 1): Buffer {
  const mac = sequence(
    sequence(sequence(oid(OID.sha1), NULL), octets(digest)),
    octets(salt),
    integer(iterations),
  );
  return sequence(integer(3), data(sequence(...parts)), mac);
}

const access = { password: "changeit", spend: () => undefined };

describe("readPkcs12", () => {
  // The key of the MAC would have as many bytes as the digest, and each 20 of them take time for
  // the whole salt.
  test.each([
    ["a digest of 256 KiB", Buffer.alloc(262_144), Buffer.alloc(262_144)],
    ["a digest of another size than that of the hash", Buffer.alloc(21), Buffer.alloc(8)],
    ["a salt of 2 KiB", Buffer.alloc(20), Buffer.alloc(2_048)],
  ])("rejects %s without computing it", (_, digest, salt) => {
    expect(() => readPkcs12(keystore([], digest, salt), access)).toThrow(
      "the ASN.1 of the keystore is malformed",
    );
  });

  test("accounts for each iteration before it computes any", () => {
    const spent: number[] = [];
    const spend = (units: number): void => {
      spent.push(units);
      if (units > 1_000_000) throw new Error("enough");
    };
    const input = keystore([], Buffer.alloc(20), Buffer.alloc(8), 2_000_000_000);
    expect(() => readPkcs12(input, { ...access, spend })).toThrow("enough");
    expect(spent.at(-1)).toBeGreaterThan(2_000_000_000);
  });

  test("spends more than one target may on 512 KiB, before it parses any", () => {
    const budget = new Budget(MAX_UNITS);
    const input = sequence(der(0x06, Buffer.alloc(524_288, 1)));
    expect(() => readPkcs12(input, { ...access, spend: (units) => budget.spend(units) })).toThrow(
      "do more work than one target",
    );
  });

  test("reports what the parser throws as malformed, without the input", () => {
    const time = sequence(der(0x17, Buffer.alloc(200_000, "cnry")));
    expect(() => readPkcs12(time, access)).toThrow(/^the ASN\.1 of the keystore is malformed$/u);
  });

  test("reads indefinite lengths and octet strings in parts", () => {
    const [leaf] = certificatesIn(chainPem);
    const bag = sequence(
      oid(OID.certBag),
      tagged(0, sequence(oid(OID.x509), tagged(0, octets(leaf!.raw)))),
    );
    const content = data(sequence(bag));
    const inner = sequence(content);
    const split = der(0x24, octets(inner.subarray(0, 10)), octets(inner.subarray(10)));
    const end = Buffer.from([0, 0]);
    const indefinite = Buffer.concat([Buffer.from([0xa0, 0x80]), split, end]);
    const input = sequence(integer(3), sequence(oid(OID.data), indefinite));
    expect(readPkcs12(input, access).certificates).toEqual([leaf!.raw]);
  });

  test("rejects more certificates than one keystore has, and values that are nested too deeply", () => {
    const [leaf] = certificatesIn(chainPem);
    const bag = sequence(
      oid(OID.certBag),
      tagged(0, sequence(oid(OID.x509), tagged(0, octets(leaf!.raw)))),
    );
    const many = sequence(
      integer(3),
      data(sequence(data(sequence(...Array.from({ length: 257 }, () => bag))))),
    );
    expect(() => readPkcs12(many, access)).toThrow(
      "the keystore contains more than 256 keys and certificates",
    );
    let nested = octets(Buffer.alloc(1));
    for (let depth = 0; depth < 40; depth += 1) nested = sequence(nested);
    expect(() => readPkcs12(nested, access)).toThrow("the ASN.1 of the keystore is malformed");
  });
});

test("a password of a keystore has at most 1,024 characters", () => {
  const pw = "x".repeat(1_025);
  expect(() => renderedBytes("{{ crt | pkcs12_truststore: pw }}", { crt: chainPem, pw })).toThrow(
    "must have 1 to 1024 characters",
  );
  expect(
    rendered("{{ crt | pkcs12_truststore: pw | pkcs12_certificates: pw }}", {
      crt: chainPem,
      pw: pw.slice(1),
    }),
  ).toBe(chainPem);
});
