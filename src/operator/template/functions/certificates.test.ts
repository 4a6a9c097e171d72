import { createPrivateKey, hash, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { describe, expect, test } from "vitest";
import { rendered, renderedBytes } from "../../../../test/lab/template/render.ts";
import { chainPem, keyPem, keystores } from "../../../../test/lab/template/keystores.ts";
import { certificatesIn } from "../keystores/pem.ts";

const variables = { crt: chainPem, key: keyPem, pw: "changeit", ...keystores };
const sha256 = (bytes: Uint8Array) => hash("sha256", bytes);

describe("parts of PEM text", () => {
  const [leaf, authority] = chainPem.split(/(?<=-----END CERTIFICATE-----\n)/);

  test.each([
    ["pem_leaf", leaf],
    ["pem_chain", authority],
    ["pem_certificates", chainPem],
    ["pem_key", keyPem],
  ])("%s", (name, expected) => {
    const bundle = `some text\n${leaf}${keyPem}more text${authority}`;
    expect(rendered(`{{ bundle | ${name} }}`, { bundle })).toBe(expected);
  });

  test("a chain of one certificate is empty", () => {
    expect(rendered("[{{ leaf | pem_chain }}]", { leaf: leaf! })).toBe("[]");
  });

  test("a key in another encoding becomes PKCS#8", () => {
    const sec1 = createPrivateKey(keyPem).export({ type: "sec1", format: "pem" });
    expect(sec1).toContain("EC PRIVATE KEY");
    expect(rendered("{{ sec1 | pem_key }}", { sec1 })).toBe(keyPem);
  });

  const locked = createPrivateKey(keyPem).export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  });
  test.each([
    ["no certificate", "{{ key | pem_leaf }}", keyPem, "there is no PEM block CERTIFICATE"],
    ["no key", "{{ key | pem_key }}", chainPem, "there is no PEM block PRIVATE KEY"],
    [
      "a block without an end",
      "{{ key | pem_key }}",
      keyPem.slice(0, 100),
      "a PEM block has no end",
    ],
    [
      "a block of other bytes",
      "{{ key | pem_key }}",
      keyPem.replace("MI", "AA"),
      "the private key cannot be read",
    ],
    [
      "a key of SSH",
      "{{ key | pem_key }}",
      keyPem.replaceAll("PRIVATE", "OPENSSH PRIVATE"),
      "expected PRIVATE KEY, RSA PRIVATE KEY or EC",
    ],
    [
      "a certificate of other bytes",
      "{{ key | pem_leaf }}",
      chainPem.replace("MI", "AA"),
      "contains no certificate",
    ],
    ["an encrypted key", "{{ key | pem_key }}", locked, "the private key is encrypted"],
    ["too many blocks", "{{ key | pem_leaf }}", leaf!.repeat(257), "more than 256 PEM blocks"],
  ])("explain %s", (_, template, key, message) => {
    expect(() => rendered(template, { key })).toThrow(message);
  });
});

describe("pkcs12", () => {
  test("yields a keystore that OpenSSL opens with the password", () => {
    const pfx = renderedBytes("{{ crt | pkcs12: key, pw }}", variables);
    expect(() => createSecureContext({ pfx, passphrase: "changeit" })).not.toThrow();
    expect(() => createSecureContext({ pfx, passphrase: "wrong" })).toThrow("mac verify failure");
  });

  test("takes a password and a name that are not ASCII or default", () => {
    const pfx = renderedBytes('{{ crt | pkcs12: key, pw, "web" }}', {
      ...variables,
      pw: "pässword",
    });
    expect(() => createSecureContext({ pfx, passphrase: "pässword" })).not.toThrow();
    expect(pfx.includes(Buffer.from("web", "utf16le").swap16())).toBe(true);
  });

  test.each(["modern", "legacy", "java", "plain"])(
    "reads the key and the certificates of a keystore: %s",
    (name) => {
      expect(rendered(`{{ ${name} | pkcs12_key: pw }}`, variables)).toBe(keyPem);
      const expected = name === "plain" ? "{{ crt | pem_leaf }}" : "{{ crt }}";
      expect(rendered(`{{ ${name} | pkcs12_certificates: pw }}`, variables)).toBe(
        rendered(expected, variables),
      );
    },
  );

  test("reads what it writes, also from base64", () => {
    expect(
      rendered("{{ crt | pkcs12: key, pw | base64 | base64decode | pkcs12_key: pw }}", variables),
    ).toBe(keyPem);
    expect(rendered("{{ crt | pkcs12_truststore: pw | pkcs12_certificates: pw }}", variables)).toBe(
      chainPem,
    );
  });

  test("yields the same bytes for the same input (read by keytool 17 and OpenSSL 3.0)", () => {
    const template = "{{ crt | pkcs12: key, pw }}";
    expect(sha256(renderedBytes(template, variables))).toMatchInlineSnapshot(
      `"99bf72c2e0666878437095650dbf2a0fd742b4e02a25a408f996a14eac0557bb"`,
    );
    expect(
      sha256(renderedBytes("{{ crt | pkcs12_truststore: pw }}", variables)),
    ).toMatchInlineSnapshot(`"e65d1e3ab68bcfe4f6b594e88acccba1416a2c103112e219196498ae931b9b2e"`);
    expect(renderedBytes(template, { ...variables, pw: "changed" })).not.toEqual(
      renderedBytes(template, variables),
    );
    expect(renderedBytes(template, variables, "other seed")).not.toEqual(
      renderedBytes(template, variables),
    );
  });

  test.each([
    ["a wrong password", "{{ modern | pkcs12_key: crt }}", "the password of the keystore is wrong"],
    [
      "a wrong password of an old keystore",
      "{{ legacy | pkcs12_key: key }}",
      "the password of the keystore is wrong",
    ],
    ["RC2", "{{ rc2 | pkcs12_key: pw }}", "an algorithm that is not supported: export it again"],
    ["text", "{{ pw | pkcs12_key: pw }}", "the ASN.1 of the keystore is malformed"],
    [
      "an empty password",
      '{{ crt | pkcs12: key, "" }}',
      "the password of a keystore must have 1 to 1024 characters",
    ],
    [
      "a key of another certificate",
      "{{ crt | pem_chain | pkcs12: key, pw }}",
      "the private key does not belong to the first certificate",
    ],
    [
      "a name with spaces",
      '{{ crt | pkcs12: key, pw, "a b" }}',
      "the name of the entry must consist of",
    ],
    [
      "a keystore without a key",
      "{{ crt | pkcs12_truststore: pw | pkcs12_key: pw }}",
      "the keystore contains no private key",
    ],
  ])("explains %s", (_, template, message) => {
    expect(() => rendered(template, variables)).toThrow(message);
  });
});

/** Reads a JKS keystore as its documentation describes, independently of the writer. */
function readJks(store: Buffer, password: string) {
  const secret = Buffer.from(password, "utf16le").swap16();
  let at = 0;
  const bytes = (size: number) => store.subarray(at, (at += size));
  const uint32 = () => bytes(4).readUInt32BE();
  const text = () => bytes(bytes(2).readUInt16BE()).toString();
  expect(uint32()).toEqual(0xfeedfeed);
  expect(uint32()).toBe(2);
  const certificate = () => {
    expect(text()).toBe("X.509");
    return new X509Certificate(bytes(uint32()));
  };
  const entries = Array.from({ length: uint32() }, () => {
    const [tag, name, date] = [uint32(), text(), Number(bytes(8).readBigInt64BE())];
    const key = tag === 1 ? bytes(uint32()) : undefined;
    const chain = Array.from({ length: tag === 1 ? uint32() : 1 }, certificate);
    return { tag, name, date, key, chain };
  });
  const mac = hash(
    "sha1",
    Buffer.concat([secret, Buffer.from("Mighty Aphrodite"), store.subarray(0, at)]),
    "buffer",
  );
  expect(store.subarray(at)).toEqual(mac);
  return entries;
}

describe("jks", () => {
  test("yields a keystore with the key and its chain", () => {
    const [entry] = readJks(
      renderedBytes('{{ crt | jks: key, pw, "Web" }}', variables),
      "changeit",
    );
    expect(entry).toMatchObject({
      tag: 1,
      name: "web",
      date: certificatesIn(chainPem)[0]!.validFromDate.getTime(),
    });
    expect(entry!.chain.map(({ subject }) => subject)).toEqual(["CN=leaf", "CN=ca"]);
    const secret = Buffer.from("changeit", "utf16le").swap16();
    const protectedKey = entry!.key!.subarray(-(20 + 138 + 20));
    let digest: Uint8Array = protectedKey.subarray(0, 20);
    const plain = Buffer.from(protectedKey.subarray(20, -20)).map((byte, index) => {
      if (index % 20 === 0) digest = hash("sha1", Buffer.concat([secret, digest]), "buffer");
      return byte ^ digest[index % 20]!;
    });
    expect(
      createPrivateKey({ key: Buffer.from(plain), format: "der", type: "pkcs8" }).export({
        type: "pkcs8",
        format: "pem",
      }),
    ).toBe(keyPem);
  });

  test("yields a keystore of certificates to trust", () => {
    const entries = readJks(renderedBytes("{{ crt | jks_truststore: pw }}", variables), "changeit");
    expect(entries.map(({ tag, name }) => [tag, name])).toEqual([
      [2, "ca-1"],
      [2, "ca-2"],
    ]);
  });

  test("yields the same bytes for the same input (read by keytool 17)", () => {
    expect(sha256(renderedBytes("{{ crt | jks: key, pw }}", variables))).toMatchInlineSnapshot(
      `"ec06df4c779a99d755456f62fec1288e396e9c198bbb814f140f01c14522377c"`,
    );
    expect(
      sha256(renderedBytes("{{ crt | jks_truststore: pw }}", variables)),
    ).toMatchInlineSnapshot(`"76473ec151ff9e59c79778c5e16ec324dee0bb3e5e648d560bd8bcbf64ae498b"`);
  });
});
