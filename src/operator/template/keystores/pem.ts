import { type KeyObject, X509Certificate, createPrivateKey } from "node:crypto";
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

/**
 * Maximum number of PEM blocks in one value, and of characters in one of them: a key of 16,384 bits
 * has some 13,000.
 */
const MAX_BLOCKS = 256;
const MAX_BLOCK_LENGTH = 65_536;

const BEGIN = "-----BEGIN ";
const DASHES = "-----";
const LABEL = /^[A-Z0-9 ]{1,64}$/;

/** One block of PEM text. */
interface PemBlock {
  readonly label: string;
  /** Text between the delimiters. */
  readonly body: string;
  /** The block, with its delimiters and a line end. */
  readonly text: string;
}

const toPem = (label: string, der: Uint8Array): string =>
  `${BEGIN}${label}${DASHES}\n${Buffer.from(der)
    .toString("base64")
    .replaceAll(/.{64}(?!$)/g, "$&\n")}\n-----END ${label}${DASHES}\n`;

/**
 * Returns the blocks of a text; other text between them is skipped. Takes linear time. @throws
 * TemplateFault
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  for (let from = text.indexOf(BEGIN); from !== -1; from = text.indexOf(BEGIN, from)) {
    const head = text.slice(from + BEGIN.length, from + BEGIN.length + 80);
    const label = head.slice(0, Math.max(0, head.indexOf(DASHES)));
    const end = `-----END ${label}${DASHES}`;
    const start = from + BEGIN.length + label.length + DASHES.length;
    const at = LABEL.test(label) ? text.slice(start, start + MAX_BLOCK_LENGTH).indexOf(end) : -1;
    if (at === -1) throw new TemplateFault("a PEM block has no end, or is too long");
    from = start + at + end.length;
    const body = text.slice(start, start + at);
    blocks.push({ label, body, text: `${BEGIN}${label}${DASHES}${body}${end}\n` });
    if (blocks.length > MAX_BLOCKS) throw new TemplateFault(`more than ${MAX_BLOCKS} PEM blocks`);
  }
  return blocks;
}

const isCertificate = ({ label }: PemBlock): boolean =>
  label === "CERTIFICATE" || label === "X509 CERTIFICATE";

function parsed({ text }: PemBlock): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new TemplateFault("a CERTIFICATE block contains no certificate");
  }
}

/**
 * Returns the certificates in a text, in their order. @throws TemplateFault if it has none, or one
 * that cannot be parsed
 */
export function certificatesIn(text: string): readonly X509Certificate[] {
  const certificates = pemBlocks(text).filter(isCertificate).map(parsed);
  if (certificates.length === 0) throw new TemplateFault("there is no PEM block CERTIFICATE");
  return certificates;
}

const keyTypes = new Map<string, "pkcs8" | "pkcs1" | "sec1">([
  ["PRIVATE KEY", "pkcs8"],
  ["RSA PRIVATE KEY", "pkcs1"],
  ["EC PRIVATE KEY", "sec1"],
]);

/**
 * Returns the private key in a text. @throws TemplateFault if it has none, or one that cannot be
 * read
 */
export function privateKeyIn(text: string): KeyObject {
  const block = pemBlocks(text).find(({ label }) => label.endsWith("PRIVATE KEY"));
  if (block === undefined) throw new TemplateFault("there is no PEM block PRIVATE KEY");
  const { label, body } = block;
  if (label.startsWith("ENCRYPTED") || body.includes("Proc-Type:")) {
    throw new TemplateFault("the private key is encrypted: store it without a password");
  }
  const type = keyTypes.get(label);
  if (type === undefined) {
    throw new TemplateFault(
      `the PEM block is ${label}: expected PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY`,
    );
  }
  return parsePrivateKey(Buffer.from(body, "base64"), type);
}

/** Returns a certificate as PEM. */
export const certificatePem = (der: Uint8Array): string => toPem("CERTIFICATE", der);

/** Returns a private key in PKCS#8 as PEM. */
export const privateKeyPem = (der: Uint8Array): string => toPem("PRIVATE KEY", der);

/**
 * Returns a certificate and its key from two texts. @throws TemplateFault, also if they do not
 * belong together
 */
export function keyPair(
  certificates: string,
  key: string,
): { readonly chain: readonly X509Certificate[]; readonly key: KeyObject } {
  const chain = certificatesIn(certificates);
  const privateKey = privateKeyIn(key);
  if (chain[0]?.checkPrivateKey(privateKey) !== true) {
    throw new TemplateFault("the private key does not belong to the first certificate");
  }
  return { chain, key: privateKey };
}
