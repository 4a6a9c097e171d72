import { type KeyObject, X509Certificate } from "node:crypto";
import {
  certificatePem,
  certificatesIn,
  keyPair,
  privateKeyIn,
  privateKeyPem,
  parsePrivateKey,
} from "../keystores/pem.ts";
import { type Pkcs12, readPkcs12 } from "../keystores/read-pkcs12.ts";
import { writeJks } from "../keystores/write-jks.ts";
import { type Entries, writePkcs12 } from "../keystores/write-pkcs12.ts";
import { TemplateFault } from "../template-fault.ts";
import type { Value } from "../value.ts";
import type { TemplateFunction, Tools } from "./template-function.ts";

/** Work of reading one certificate or key. */
const PARSE_UNITS = 8 * 1024;
/** Work of writing a keystore, some 30 ms. */
const WRITE_UNITS = 512 * 1024;
/** Letters, digits, '-', '_' and '.', because each format encodes other names in another way. */
const NAME = /^[A-Za-z0-9][-\w.]{0,63}$/;

const partOfChain = (from: number, to: number): TemplateFunction => ({
  arguments: [0, 0],
  run({ text }, _, { spend }) {
    const chain = certificatesIn(text);
    spend(chain.length * PARSE_UNITS);
    return chain
      .slice(from, to)
      .map(({ raw }) => certificatePem(raw))
      .join("");
  },
});

type Writer = (
  entries: Entries,
  protection: { readonly password: string; salt: (purpose: string, size: number) => Buffer },
) => Buffer;

/** Maximum length of a password: the derivation of keys takes time for each character. */
const MAX_PASSWORD_LENGTH = 1024;

function passwordOf(value: Value | undefined): string {
  const password = value?.text ?? "";
  if (password === "" || password.length > MAX_PASSWORD_LENGTH || password.includes("\0")) {
    throw new TemplateFault(
      `the password of a keystore must have 1 to ${MAX_PASSWORD_LENGTH} characters and no NUL`,
    );
  }
  return password;
}

function write(
  writer: Writer,
  entries: Entries,
  password: Value | undefined,
  inputs: readonly Value[],
  tools: Tools,
): Buffer {
  tools.spend(WRITE_UNITS);
  const bytes = inputs.map((input) => input.bytes);
  return writer(entries, {
    password: passwordOf(password),
    salt: (purpose, size) => tools.salt(purpose, size, ...bytes),
  });
}

/**
 * Returns the function that writes a key with its certificates: `certificates | f: key, password[,
 * name]`.
 */
const keyStore = (writer: Writer): TemplateFunction => ({
  arguments: [2, 3],
  run(certificates, [key, password, name], tools) {
    tools.spend(PARSE_UNITS);
    const alias = name?.text ?? "tls";
    if (!NAME.test(alias))
      throw new TemplateFault(
        "the name of the entry must consist of letters, digits, '-', '_' and '.'",
      );
    const entries = { ...keyPair(certificates.text, key?.text ?? ""), name: alias };
    return write(
      writer,
      entries,
      password,
      [certificates, ...(key ? [key] : []), ...(password ? [password] : [])],
      tools,
    );
  },
});

/** Returns the function that writes certificates to trust: `certificates | f: password`. */
const trustStore = (writer: Writer): TemplateFunction => ({
  arguments: [1, 1],
  run(certificates, [password], tools) {
    const trusted = certificatesIn(certificates.text);
    tools.spend(trusted.length * PARSE_UNITS);
    return write(
      writer,
      { trusted },
      password,
      [certificates, ...(password ? [password] : [])],
      tools,
    );
  },
});

function open(keystore: Value, password: Value | undefined, tools: Tools): Pkcs12 {
  const read = readPkcs12(keystore.bytes, { password: passwordOf(password), spend: tools.spend });
  tools.spend((read.keys.length + read.certificates.length) * PARSE_UNITS);
  return read;
}

function keyOf({ keys }: Pkcs12): KeyObject {
  const [key] = keys;
  if (key === undefined) throw new TemplateFault("the keystore contains no private key");
  return parsePrivateKey(key, "pkcs8");
}

function parsed(certificate: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(certificate);
  } catch {
    throw new TemplateFault("the keystore contains a certificate that cannot be read");
  }
}

/**
 * Returns the certificates of a keystore: first the one of the key, then the rest in their order.
 */
function chainOf(keystore: Pkcs12): readonly X509Certificate[] {
  if (keystore.certificates.length === 0)
    throw new TemplateFault("the keystore contains no certificate");
  const certificates = keystore.certificates.map(parsed);
  const key = keystore.keys.length > 0 ? keyOf(keystore) : undefined;
  const isLeaf = (certificate: X509Certificate): boolean =>
    key !== undefined && certificate.checkPrivateKey(key);
  return [
    ...certificates.filter(isLeaf),
    ...certificates.filter((certificate) => !isLeaf(certificate)),
  ];
}

const reader = (run: (keystore: Pkcs12) => string): TemplateFunction => ({
  arguments: [1, 1],
  run: (keystore, [password], tools) => run(open(keystore, password, tools)),
});

/** Functions that return parts of PEM text, and functions between PEM and keystores. */
export const certificateFunctions: Readonly<Record<string, TemplateFunction>> = {
  pem_certificates: partOfChain(0, Infinity),
  pem_leaf: partOfChain(0, 1),
  pem_chain: partOfChain(1, Infinity),
  pem_key: {
    arguments: [0, 0],
    run({ text }, _, { spend }) {
      spend(PARSE_UNITS);
      return privateKeyPem(privateKeyIn(text).export({ type: "pkcs8", format: "der" }));
    },
  },
  pkcs12: keyStore(writePkcs12),
  pkcs12_truststore: trustStore(writePkcs12),
  pkcs12_key: reader((keystore) =>
    privateKeyPem(keyOf(keystore).export({ type: "pkcs8", format: "der" })),
  ),
  pkcs12_certificates: reader((keystore) =>
    chainOf(keystore)
      .map(({ raw }) => certificatePem(raw))
      .join(""),
  ),
  jks: keyStore(writeJks),
  jks_truststore: trustStore(writeJks),
};
