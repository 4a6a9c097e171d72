import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its key, made on the spot; for tests of what a TLS client believes. */
export interface Certificate {
  readonly name: string;
  readonly cert: string;
  readonly key: KeyObject;
  /** The key as PEM. */
  readonly keyPem: string;
}

export interface CertificateOptions {
  /** Self-signed when there is none. */
  readonly issuer?: Certificate;
  /** Host names and IPv4 addresses it is for. */
  readonly hosts?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const DAY_MS = 86_400_000;

function der(tag: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const size: number[] = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 256)) size.unshift(left % 256);
  const header = body.length < 128 ? [tag, body.length] : [tag, 0x80 | size.length, ...size];
  return Buffer.concat([Buffer.from(header), body]);
}

const sequence = (...parts: readonly (Uint8Array | string)[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid("550403"), der(0x0c, name))));
const time = (date: Date): Buffer => der(0x18, date.toISOString().replace(/[-:T]|\.\d+/g, ""));
const TRUE = der(0x01, Buffer.from([0xff]));
const ED25519 = sequence(oid("2b6570"));

function extensions(hosts: readonly string[] | undefined): Buffer {
  const authority = sequence(oid("551d13"), TRUE, der(0x04, hosts ? sequence() : sequence(TRUE)));
  const names = (hosts ?? []).map((host) =>
    isIP(host) === 4 ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, host),
  );
  const subject = hosts ? [sequence(oid("551d11"), der(0x04, sequence(...names)))] : [];
  return der(0xa3, sequence(authority, ...subject));
}

/** Returns a certificate of 60 days that expires in a day, in PEM. */
export const expiringCertificate = (): string =>
  certificate("expiring", {
    hosts: ["shop.example.com"],
    notBefore: new Date(Date.now() - 59 * DAY_MS),
  }).cert;

/** An Ed25519 certificate: an authority when it names no hosts, else one for a server. */
export function certificate(name: string, options: CertificateOptions = {}): Certificate {
  const {
    issuer,
    hosts,
    notBefore = new Date(Date.now() - DAY_MS),
    notAfter = new Date(Date.now() + DAY_MS),
  } = options;
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ED25519,
    commonName(issuer?.name ?? name),
    sequence(time(notBefore), time(notAfter)),
    commonName(name),
    publicKey.export({ type: "spki", format: "der" }),
    extensions(hosts),
  );
  const signature = sign(null, body, issuer?.key ?? privateKey);
  const whole = sequence(body, ED25519, der(0x03, Buffer.from([0]), signature));
  const cert = `-----BEGIN CERTIFICATE-----\n${whole.toString("base64")}\n-----END CERTIFICATE-----\n`;
  return {
    name,
    cert,
    key: privateKey,
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}
