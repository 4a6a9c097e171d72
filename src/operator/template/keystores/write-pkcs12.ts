import {
  createCipheriv,
  createHmac,
  hash,
  type KeyObject,
  pbkdf2Sync,
  type X509Certificate,
} from "node:crypto";
import { der, integer, NULL, octets, oid, sequence, set, tagged, OID } from "./der.ts";
import { pkcs12Kdf, PURPOSE } from "./pkcs12-kdf.ts";

/** Iterations of each derivation, as keytool of Java 17 and later uses. */
const ITERATIONS = 10_000;

interface Protection {
  readonly password: string;
  /** Returns the salt, or the initialization vector, of this name. */
  readonly salt: (purpose: string, size: number) => Uint8Array;
}

/** The entries of a keystore: a key with its chain, or certificates to trust. */
export type Entries =
  | { readonly chain: readonly X509Certificate[]; readonly key: KeyObject; readonly name: string }
  | { readonly trusted: readonly X509Certificate[] };

/** Returns the algorithm, PBES2 with AES-256, and the encrypted bytes. */
function encrypt(
  plain: Uint8Array,
  purpose: string,
  { password, salt }: Protection,
): { algorithm: Buffer; encrypted: Buffer } {
  const [keySalt, iv] = [salt(`${purpose} salt`, 16), salt(`${purpose} iv`, 16)];
  const cipher = createCipheriv(
    "aes-256-cbc",
    pbkdf2Sync(password, keySalt, ITERATIONS, 32, "sha256"),
    iv,
  );
  const kdf = sequence(octets(keySalt), integer(ITERATIONS), sequence(oid(OID.hmacSha256), NULL));
  const parameters = sequence(
    sequence(oid(OID.pbkdf2), kdf),
    sequence(oid(OID.aes256), octets(iv)),
  );
  return {
    algorithm: sequence(oid(OID.pbes2), parameters),
    encrypted: Buffer.concat([cipher.update(plain), cipher.final()]),
  };
}

const attribute = (id: string, ...values: readonly Buffer[]): Buffer =>
  sequence(oid(id), set(...values));
const nameAttribute = (name: string): Buffer =>
  attribute(OID.friendlyName, der(0x1e, Buffer.from(name, "utf16le").swap16()));
const bag = (id: string, content: Buffer, attributes: readonly Buffer[]): Buffer =>
  sequence(oid(id), tagged(0, content), ...(attributes.length > 0 ? [set(...attributes)] : []));
const certificateBag = ({ raw }: X509Certificate, attributes: readonly Buffer[]): Buffer =>
  bag(OID.certBag, sequence(oid(OID.x509), tagged(0, octets(raw))), attributes);

/** Returns the attributes of the certificate of a key, or of one that Java is to trust. */
function attributesOf(
  entries: Entries,
  index: number,
  keyAttributes: readonly Buffer[],
): readonly Buffer[] {
  if ("key" in entries) return index === 0 ? keyAttributes : [];
  return [nameAttribute(`ca-${index + 1}`), attribute(OID.javaTrusted, oid(OID.anyKeyUsage))];
}

const dataInfo = (content: Buffer): Buffer => sequence(oid(OID.data), tagged(0, octets(content)));

function encryptedInfo(content: Buffer, protection: Protection): Buffer {
  const { algorithm, encrypted } = encrypt(content, "certificates", protection);
  const info = sequence(oid(OID.data), algorithm, der(0x80, encrypted));
  return sequence(oid(OID.encryptedData), tagged(0, sequence(integer(0), info)));
}

function keyInfo(key: KeyObject, attributes: readonly Buffer[], protection: Protection): Buffer {
  const { algorithm, encrypted } = encrypt(
    key.export({ type: "pkcs8", format: "der" }),
    "key",
    protection,
  );
  return dataInfo(
    sequence(bag(OID.shroudedKeyBag, sequence(algorithm, octets(encrypted)), attributes)),
  );
}

/**
 * Returns a keystore in PKCS#12 with AES-256, PBKDF2 and HMAC-SHA256 (OpenSSL 1.1, Java 8u301 and
 * later).
 */
export function writePkcs12(entries: Entries, protection: Protection): Buffer {
  const certificates = "key" in entries ? entries.chain : entries.trusted;
  const leaf = certificates[0]?.raw ?? Buffer.alloc(0);
  const keyAttributes =
    "key" in entries
      ? [
          nameAttribute(entries.name),
          attribute(OID.localKeyId, octets(hash("sha1", leaf, "buffer"))),
        ]
      : [];
  const bags = certificates.map((one, index) =>
    certificateBag(one, attributesOf(entries, index, keyAttributes)),
  );
  const infos = [encryptedInfo(sequence(...bags), protection)];
  if ("key" in entries) infos.push(keyInfo(entries.key, keyAttributes, protection));
  const content = sequence(...infos);
  const salt = protection.salt("mac", 16);
  const macKey = pkcs12Kdf(
    "sha256",
    PURPOSE.mac,
    { password: protection.password, salt, iterations: ITERATIONS },
    32,
  );
  const mac = createHmac("sha256", macKey).update(content).digest();
  const macData = sequence(
    sequence(sequence(oid(OID.sha256), NULL), octets(mac)),
    octets(salt),
    integer(ITERATIONS),
  );
  return sequence(integer(3), dataInfo(content), macData);
}
