import { certificatesIn, pemBlocks, privateKeyIn } from "../template/keystores/pem.ts";
import { TemplateFault } from "../template/template-fault.ts";
import { isObject } from "../../lib/is-object.ts";
import { utf8Text } from "../lib/utf8-text.ts";
import type { Content } from "./content.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncResource } from "./sync-resource.ts";

/** Reads one key of a Secret as text. */
type TextOf = (key: string) => string;

/** A problem of the content of a Secret. The message never contains a part of it. */
class ShapeError extends Error {}

/** Returns what `read` returns, and names the key in what it throws. */
function reading<T>(key: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TemplateFault) throw new ShapeError(`${key}: ${error.message}`);
    throw error;
  }
}

function checkTls(text: TextOf): void {
  const [leaf] = reading("tls.crt", () => certificatesIn(text("tls.crt")));
  const key = reading("tls.key", () => privateKeyIn(text("tls.key")));
  if (leaf?.checkPrivateKey(key) !== true) {
    throw new ShapeError("tls.key is not the private key of the first certificate in tls.crt");
  }
}

/** Maximum length of a configuration of Docker: a parser takes some 10 ms for it. */
const MAX_JSON_LENGTH = 256 * 1024;

function jsonObject(key: string, text: string): Record<string, unknown> {
  if (text.length > MAX_JSON_LENGTH)
    throw new ShapeError(`${key}: expected at most ${MAX_JSON_LENGTH} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ShapeError(`${key}: expected JSON`);
  }
  if (!isObject(value)) throw new ShapeError(`${key}: expected a JSON object`);
  return value;
}

function checkRegistries(key: string, registries: unknown): void {
  if (!isObject(registries) || !Object.values(registries).every(isObject)) {
    throw new ShapeError(`${key}: expected a JSON object with an object for each registry`);
  }
}

function checkDockerConfig(text: TextOf): void {
  const key = ".dockerconfigjson";
  checkRegistries(`${key}: auths`, jsonObject(key, text(key)).auths);
}

/** Checks a user and a password as RFC 7617 limits them. */
function checkBasicAuth(text: TextOf, keys: ReadonlySet<string>): void {
  const present = ["username", "password"].filter((key) => keys.has(key));
  if (present.length === 0) throw new ShapeError("the key username or password is required");
  for (const key of present) {
    if (/\p{Cc}/u.test(text(key)))
      throw new ShapeError(`${key}: must not contain control characters such as a line end`);
  }
  if (keys.has("username") && text("username").includes(":"))
    throw new ShapeError("username: must not contain a colon");
}

const SSH_MAGIC = Buffer.from("openssh-key-v1\0");

/** Checks an SSH key. It may have a password; only OpenSSH reads its own format. */
function checkSshKey(text: TextOf): void {
  const key = "ssh-privatekey";
  const block = reading(key, () => pemBlocks(text(key))[0]);
  if (block?.label.endsWith("PRIVATE KEY") !== true)
    throw new ShapeError(`${key}: there is no PEM block with a private key`);
  if (block.label === "OPENSSH PRIVATE KEY") {
    const isSsh = Buffer.from(block.body, "base64").subarray(0, SSH_MAGIC.length).equals(SSH_MAGIC);
    if (!isSsh) throw new ShapeError(`${key}: the PEM block contains no key of OpenSSH`);
  } else if (!block.label.startsWith("ENCRYPTED") && !block.body.includes("Proc-Type:")) {
    reading(key, () => privateKeyIn(block.text));
  }
}

/** Checks of the types whose content has a shape. */
const checks = new Map<string, (text: TextOf, keys: ReadonlySet<string>) => void>([
  ["kubernetes.io/tls", checkTls],
  ["kubernetes.io/dockerconfigjson", checkDockerConfig],
  [
    "kubernetes.io/dockercfg",
    (text) => checkRegistries(".dockercfg", jsonObject(".dockercfg", text(".dockercfg"))),
  ],
  ["kubernetes.io/basic-auth", checkBasicAuth],
  ["kubernetes.io/ssh-auth", checkSshKey],
]);

/**
 * Reports whether the content of the target must have the shape of its type: a change of one key
 * then needs all keys.
 */
export const hasShape = ({ target }: Pick<SyncResource, "target">): boolean =>
  checks.has(target.type ?? "");

/**
 * Checks the content of a Secret before it is written: a program that reads a certificate without
 * its key, or an invalid configuration, fails later and elsewhere. Returns the condition for
 * content that its type does not allow. Pure and total.
 */
export function shapeProblem(
  { target }: Pick<SyncResource, "target">,
  content: Content,
): ReadyCondition | undefined {
  const text = (key: string): string => {
    const decoded = utf8Text(content.get(key) ?? new Uint8Array());
    if (decoded === undefined) throw new ShapeError(`${key}: expected UTF-8 text`);
    return decoded;
  };
  try {
    checks.get(target.type ?? "")?.(text, new Set(content.keys()));
    return undefined;
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return notReady("InvalidContent", `a Secret of type ${target.type}: ${error.message}`);
  }
}
