import { certificate } from "../lab/certificates.ts";

/** A part of every value of the simulation. It identifies a value in the wrong place. */
export const CANARY = "cnry";
/** Matches a value. A random digest may contain the canary, without a number. */
export const VALUE = new RegExp(`${CANARY}-\\d`, "iu");

/** The forms that the value of a secret may have: a JSON object with certain members, or a text. */
export const valueForms = ["plain", "encoded", "tls", "docker", "text", "base64", "empty"] as const;
export type ValueForm = (typeof valueForms)[number];

/**
 * A value, and the bytes in base64 of its parts: its members by name and, if they are encoded,
 * followed by how they are decoded.
 */
export interface SimulatedValue {
  readonly text: string;
  readonly parts: ReadonlyMap<string, string>;
}

/** Returns the names of the members of the secrets `name`. */
export const membersOf = (name: string) =>
  ({
    /** Every object with members has it. */
    always: `${name}-a`,
    /** Every other plain object has it. */
    sometimes: `${name}-b`,
    encoded: `${name}-e`,
    certificate: `${name}-crt`,
    key: `${name}-key`,
    docker: "auths",
  }) as const;

/** Names a part that is decoded; the whole value has no member. */
export const partName = (
  member: string | undefined,
  decoding: string | undefined,
): string | undefined =>
  decoding === undefined || decoding === "None" ? member : `${member ?? ""} ${decoding}`;

/** Returns the number of the write that made these bytes, if it is recognizable. */
export const canariesIn = (bytes: Uint8Array): readonly number[] =>
  Array.from(
    Buffer.from(bytes)
      .toString()
      .matchAll(new RegExp(`${CANARY}-(\\d+)-`, "gi")),
    ([, number]) => Number(number),
  );

/** Returns an object without members. Its spaces differ for each number. */
const emptyObject = (number: number): string =>
  `{${number.toString(2).replaceAll("0", " ").replaceAll("1", "\t")}}`;

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns the host that a certificate is for. */
export const hostOf = (name: string): string => `${name}.example.com`;

/** The clock of a simulation is in this time, whenever it runs. */
const lifetime = { notBefore: new Date("2000-01-01"), notAfter: new Date("2100-01-01") };

/** Pairs of a certificate and its key. */
const pairs = ["one", "two"]
  .map((name) => certificate(name, { hosts: [hostOf(name)], ...lifetime }))
  .map(({ name, cert, keyPem }) => ({ host: hostOf(name), cert, key: keyPem }));

/** Reports whether a text has PEM blocks, and none within JSON. */
export const isPem = (text: string): boolean =>
  text.includes("-----BEGIN ") && !text.includes("\\n-----");

/** Reports whether the first certificate in a text is for this host, or for any. */
export function isCertificateOf(host: string | undefined, text: string): boolean {
  const present = pairs.filter(({ cert }) => text.includes(cert));
  const [first] = present.sort((a, b) => text.indexOf(a.cert) - text.indexOf(b.cert));
  return first !== undefined && isPem(text) && (host ?? first.host) === first.host;
}

/** Returns the pair that a text contains a part of. */
const pairOf = (base64: string | undefined, part: "cert" | "key") => {
  const text = Buffer.from(base64 ?? "", "base64").toString();
  return pairs.find((pair) => text.endsWith(pair[part]));
};

/** Reports whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const requiredAnyOf: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "kubernetes.io/tls": [["tls.crt"], ["tls.key"]],
  "kubernetes.io/dockerconfigjson": [[".dockerconfigjson"]],
  "kubernetes.io/basic-auth": [["username", "password"]],
};

/** Returns the keys that the API server requires in a Secret of a type: at least one of each group. */
export const requiredKeys = (type: unknown): readonly (readonly string[])[] =>
  requiredAnyOf[String(type)] ?? [];

/** Reports whether the content of a Secret, in base64, is what its type promises. */
export function fitsType(
  type: string | undefined,
  content: Readonly<Record<string, string>>,
): boolean {
  const text = (key: string): string => Buffer.from(content[key] ?? "", "base64").toString();
  switch (type) {
    case "kubernetes.io/basic-auth":
      return (
        !text("username").includes(":") &&
        !["username", "password"].some((key) => /\p{Cc}/u.test(text(key)))
      );
    case "kubernetes.io/tls": {
      const pair = pairOf(content["tls.crt"], "cert");
      return pair !== undefined && pair === pairOf(content["tls.key"], "key");
    }
    case "kubernetes.io/dockerconfigjson":
      return isJson(text(".dockerconfigjson")) && text(".dockerconfigjson").includes('"auths":{');
    default:
      return true;
  }
}

/** Returns the value of the write with this number: no other one has its bytes. */
export function valueOf(form: ValueForm, number: number, name: string): SimulatedValue {
  // The dot keeps a value from being the encoding of other bytes.
  const canary = (part: string): string => `${CANARY}-${number}-${part}.`;
  const { always, sometimes, encoded, certificate: crt, key, docker } = membersOf(name);
  const decoded = (member: string): [string, string][] =>
    ["Base64", "Base64URL"].map((decoding) => [`${member} ${decoding}`, toBase64(canary(encoded))]);
  const object = (
    members: Readonly<Record<string, string>>,
    others: readonly [string, string][] = [],
  ): SimulatedValue => {
    const all = { [always]: canary(always), ...members };
    const parts = Object.entries(all).map(([member, text]): [string, string] => [
      member,
      toBase64(text),
    ]);
    return { text: JSON.stringify(all), parts: new Map([...parts, ...others]) };
  };
  switch (form) {
    case "plain":
      return object(number % 2 === 0 ? { [sometimes]: canary(sometimes) } : {});
    case "encoded":
      return object({ [encoded]: toBase64(canary(encoded)) }, decoded(encoded));
    case "tls": {
      const pair = pairs[number % pairs.length]!;
      return object({
        [crt]: `${canary(crt)}\n${pair.cert}`,
        [key]: `${canary(key)}\n${pair.key}`,
      });
    }
    case "docker": {
      const registries = `{"registry.example.com":{"auth":"${canary(docker)}"}}`;
      const text = `{"${always}":"${canary(always)}","${docker}":${registries}}`;
      return {
        text,
        parts: new Map([
          [always, toBase64(canary(always))],
          [docker, toBase64(registries)],
        ]),
      };
    }
    case "empty":
      return { text: emptyObject(number), parts: new Map() };
    case "text":
      return { text: canary(name), parts: new Map() };
    case "base64":
      return { text: toBase64(canary(encoded)), parts: new Map(decoded("")) };
  }
}
