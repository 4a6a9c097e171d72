/** Object identifiers of PKCS#12 (RFC 7292) and its encryption (RFC 8018). */
export const OID = {
  data: "1.2.840.113549.1.7.1",
  encryptedData: "1.2.840.113549.1.7.6",
  keyBag: "1.2.840.113549.1.12.10.1.1",
  shroudedKeyBag: "1.2.840.113549.1.12.10.1.2",
  certBag: "1.2.840.113549.1.12.10.1.3",
  x509: "1.2.840.113549.1.9.22.1",
  friendlyName: "1.2.840.113549.1.9.20",
  localKeyId: "1.2.840.113549.1.9.21",
  javaTrusted: "2.16.840.1.113894.746875.1.1",
  anyKeyUsage: "2.5.29.37.0",
  pbes2: "1.2.840.113549.1.5.13",
  pbkdf2: "1.2.840.113549.1.5.12",
  hmacSha1: "1.2.840.113549.2.7",
  hmacSha256: "1.2.840.113549.2.9",
  hmacSha384: "1.2.840.113549.2.10",
  hmacSha512: "1.2.840.113549.2.11",
  aes128: "2.16.840.1.101.3.4.1.2",
  aes192: "2.16.840.1.101.3.4.1.22",
  aes256: "2.16.840.1.101.3.4.1.42",
  pbeSha1TripleDes: "1.2.840.113549.1.12.1.3",
  sha1: "1.3.14.3.2.26",
  sha256: "2.16.840.1.101.3.4.2.1",
  sha384: "2.16.840.1.101.3.4.2.2",
  sha512: "2.16.840.1.101.3.4.2.3",
} as const;

/** Writes ASN.1 in DER: one value from its tag and its content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size: number[] = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 256)) size.unshift(left % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length, ...size]), body]);
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
export const set = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content);
export const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
export const NULL = der(0x05);

/** A context-specific, constructed value. */
export const tagged = (number: number, ...content: readonly Uint8Array[]): Buffer =>
  der(0xa0 + number, ...content);

/** A non-negative integer below 2³¹. */
export function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(value, 1);
  let from = 0;
  while (from < 4 && bytes[from] === 0 && (bytes[from + 1] ?? 0) < 0x80) from += 1;
  return der(0x02, bytes.subarray(from));
}

/** Returns the digits of a number with seven bits each; all but the last have the eighth bit. */
function base128(value: number): number[] {
  const digits = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128))
    digits.unshift((left % 128) | 0x80);
  return digits;
}

/** An object identifier, from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}
