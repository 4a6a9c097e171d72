import { createDecipheriv, createHmac, pbkdf2Sync, timingSafeEqual } from "node:crypto";
import { Sequence } from "asn1js";
import { TemplateFault } from "../template-fault.ts";
import {
  child,
  childrenOf,
  integerOf,
  malformed,
  type Node,
  octetsOf,
  oidOf,
  parseBer,
} from "./asn1.ts";
import { hashSize, type KdfHash, pkcs12Kdf, PURPOSE } from "./pkcs12-kdf.ts";
import { OID } from "./der.ts";

const HASHES = new Map<string, KdfHash>([
  [OID.sha1, "sha1"],
  [OID.sha256, "sha256"],
  [OID.sha384, "sha384"],
  [OID.sha512, "sha512"],
  [OID.hmacSha1, "sha1"],
  [OID.hmacSha256, "sha256"],
  [OID.hmacSha384, "sha384"],
  [OID.hmacSha512, "sha512"],
]);

const CIPHERS = new Map<string, readonly [name: string, keySize: number]>([
  [OID.aes128, ["aes-128-cbc", 16]],
  [OID.aes192, ["aes-192-cbc", 24]],
  [OID.aes256, ["aes-256-cbc", 32]],
]);

/**
 * Work of parsing one byte: the time for an identifier grows with the square of its length, 11 ms
 * for one of 64 KiB.
 */
const BYTE_UNITS = 64;
/** Work of one iteration of a derivation. */
const ITERATION_UNITS = 64;

/** Maximum size of a salt: each block of a derived key takes time for all of it. */
const MAX_SALT_BYTES = 1024;
/** Maximum number of keys and certificates: each of them is parsed. */
const MAX_ENTRIES = 256;

interface Access {
  readonly password: string;
  readonly spend: (units: number) => void;
}

/** The content of a keystore, in DER. */
export interface Pkcs12 {
  readonly keys: Uint8Array[];
  readonly certificates: Uint8Array[];
}

const unsupported = (): TemplateFault =>
  new TemplateFault(
    "the keystore is encrypted with an algorithm that is not supported: export it again with openssl pkcs12 -export, or with keytool of Java 17",
  );
const wrongPassword = (): TemplateFault =>
  new TemplateFault("the password of the keystore is wrong, or the keystore is damaged");

function saltOf(node: Node): Uint8Array {
  const salt = octetsOf(node);
  if (salt.byteLength > MAX_SALT_BYTES) throw malformed();
  return salt;
}

function iterationsOf(node: Node, { spend }: Access): number {
  const iterations = integerOf(node);
  spend(iterations * ITERATION_UNITS);
  return iterations;
}

/** Returns key, initialization vector and cipher of an algorithm. */
function cipherOf(
  algorithm: Node,
  access: Access,
): { cipher: string; key: Buffer; iv: Uint8Array } {
  const id = oidOf(child(algorithm, 0));
  const parameters = child(algorithm, 1);
  if (id === OID.pbeSha1TripleDes) {
    const salt = saltOf(child(parameters, 0));
    const input = {
      password: access.password,
      salt,
      iterations: iterationsOf(child(parameters, 1), access),
    };
    return {
      cipher: "des-ede3-cbc",
      key: pkcs12Kdf("sha1", PURPOSE.key, input, 24),
      iv: pkcs12Kdf("sha1", PURPOSE.iv, input, 8),
    };
  }
  const [derivation, encryption] =
    id === OID.pbes2 ? [child(parameters, 0), child(parameters, 1)] : [];
  if (
    derivation === undefined ||
    encryption === undefined ||
    oidOf(child(derivation, 0)) !== OID.pbkdf2
  )
    throw unsupported();
  const [name, size] = CIPHERS.get(oidOf(child(encryption, 0))) ?? [];
  const kdf = child(derivation, 1);
  const prf = childrenOf(kdf).find((part) => part instanceof Sequence);
  const algorithmOfHash = prf === undefined ? "sha1" : HASHES.get(oidOf(child(prf, 0)));
  if (name === undefined || size === undefined || algorithmOfHash === undefined)
    throw unsupported();
  const salt = saltOf(child(kdf, 0));
  const iterations = Math.max(1, iterationsOf(child(kdf, 1), access));
  return {
    cipher: name,
    key: pbkdf2Sync(access.password, salt, iterations, size, algorithmOfHash),
    iv: octetsOf(child(encryption, 1)),
  };
}

function decrypt(algorithm: Node, encrypted: Uint8Array, access: Access): Uint8Array {
  const { cipher, key, iv } = cipherOf(algorithm, access);
  try {
    const decipher = createDecipheriv(cipher, key, iv);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]);
  } catch {
    throw wrongPassword();
  }
}

function verify(macData: Node | undefined, content: Uint8Array, access: Access): void {
  if (macData === undefined) return;
  const info = child(macData, 0);
  const algorithm = HASHES.get(oidOf(child(child(info, 0), 0)));
  if (algorithm === undefined) throw unsupported();
  const expected = octetsOf(child(info, 1));
  const salt = saltOf(child(macData, 1));
  const size = hashSize(algorithm);
  if (expected.byteLength !== size) throw malformed();
  const count = childrenOf(macData)[2];
  const iterations = count === undefined ? 1 : iterationsOf(count, access);
  const key = pkcs12Kdf(
    algorithm,
    PURPOSE.mac,
    { password: access.password, salt, iterations },
    size,
  );
  const mac = createHmac(algorithm, key).update(content).digest();
  if (!timingSafeEqual(mac, expected)) throw wrongPassword();
}

function collect(bags: Uint8Array, found: Pkcs12, access: Access): void {
  for (const bag of childrenOf(parseBer(bags))) {
    if (found.keys.length + found.certificates.length >= MAX_ENTRIES) {
      throw new TemplateFault(
        `the keystore contains more than ${MAX_ENTRIES} keys and certificates`,
      );
    }
    const id = oidOf(child(bag, 0));
    const content = child(child(bag, 1), 0);
    if (id === OID.keyBag) found.keys.push(content.valueBeforeDecodeView);
    else if (id === OID.shroudedKeyBag) {
      found.keys.push(decrypt(child(content, 0), octetsOf(child(content, 1)), access));
    } else if (id === OID.certBag) {
      found.certificates.push(octetsOf(child(child(content, 1), 0)));
    }
  }
}

/** Returns the keys and certificates of a keystore in PKCS#12. @throws TemplateFault */
export function readPkcs12(bytes: Uint8Array, access: Access): Pkcs12 {
  access.spend(bytes.byteLength * BYTE_UNITS);
  const pfx = parseBer(bytes);
  const found: Pkcs12 = { keys: [], certificates: [] };
  const content = octetsOf(child(child(child(pfx, 1), 1), 0));
  verify(childrenOf(pfx)[2], content, access);
  for (const info of childrenOf(parseBer(content))) {
    const id = oidOf(child(info, 0));
    const inner = child(child(info, 1), 0);
    if (id === OID.data) collect(octetsOf(inner), found, access);
    else if (id === OID.encryptedData) {
      const encrypted = child(inner, 1);
      collect(decrypt(child(encrypted, 1), octetsOf(child(encrypted, 2)), access), found, access);
    }
  }
  return found;
}
