import { describe, expect, test } from "vitest";
import { certificate } from "../../../test/lab/certificates.ts";
import { chainPem, keyPem } from "../../../test/lab/template/keystores.ts";
import { shapeProblem } from "./secret-shape.ts";

type Values = Readonly<Record<string, string | Buffer>>;

const SECRET = "hunter2";
const other = certificate("other.example", { hosts: ["other.example"] });
const auth = (registries: unknown) => JSON.stringify({ auths: registries });
const openssh = (start: string) =>
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.from(`${start}${SECRET}`).toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`;

/** Returns what is wrong with a Secret of this type. */
function problem(type: string, values: Values): string | undefined {
  const content = new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
  const found = shapeProblem(
    { target: { kind: "Secret", name: "s", type: `kubernetes.io/${type}` } },
    content,
  );
  expect(found?.reason).toBe(found && "InvalidContent");
  expect(found?.message ?? "").not.toContain(SECRET);
  return found?.message.replace(`a Secret of type kubernetes.io/${type}: `, "").replace("", "");
}

describe("shapeProblem", () => {
  test.each<[string, Values]>([
    ["tls", { "tls.crt": chainPem, "tls.key": keyPem }],
    ["tls", { "tls.crt": other.cert, "tls.key": other.keyPem, "ca.crt": "anything" }],
    ["dockerconfigjson", { ".dockerconfigjson": auth({ "registry.example.com": { auth: "x" } }) }],
    ["dockerconfigjson", { ".dockerconfigjson": auth({}) }],
    ["dockercfg", { ".dockercfg": '{"registry.example.com": {"auth": "x"}}' }],
    ["basic-auth", { username: "ann", password: "p:ß" }],
    ["basic-auth", { password: "p" }],
    ["ssh-auth", { "ssh-privatekey": keyPem }],
    ["ssh-auth", { "ssh-privatekey": openssh("openssh-key-v1\0") }],
    ["ssh-auth", { "ssh-privatekey": keyPem.replaceAll("PRIVATE", "ENCRYPTED PRIVATE") }],
    ["other", { any: Buffer.from([0xff]) }],
  ])("allows the content of type %s: %j", (type, values) => {
    expect(problem(type, values)).toBeUndefined();
  });

  test.each<[string, Values, string]>([
    ["tls", { "tls.crt": SECRET, "tls.key": keyPem }, "tls.crt: there is no PEM block CERTIFICATE"],
    [
      "tls",
      { "tls.crt": chainPem, "tls.key": SECRET },
      "tls.key: there is no PEM block PRIVATE KEY",
    ],
    [
      "tls",
      { "tls.crt": keyPem, "tls.key": chainPem },
      "tls.crt: there is no PEM block CERTIFICATE",
    ],
    ["tls", { "tls.crt": Buffer.from([0xff]), "tls.key": keyPem }, "tls.crt: expected UTF-8 text"],
    [
      "tls",
      { "tls.crt": chainPem, "tls.key": other.keyPem },
      "tls.key is not the private key of the first certificate in tls.crt",
    ],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": `{"${SECRET}` },
      ".dockerconfigjson: expected JSON",
    ],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": `["${SECRET}"]` },
      ".dockerconfigjson: expected a JSON object",
    ],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": "{}" },
      ".dockerconfigjson: auths: expected a JSON object with an object for each registry",
    ],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": auth({ r: SECRET }) },
      ".dockerconfigjson: auths: expected a JSON object with an object for each registry",
    ],
    [
      "dockercfg",
      { ".dockercfg": " ".repeat(262_145) },
      ".dockercfg: expected at most 262144 characters",
    ],
    [
      "dockercfg",
      { ".dockercfg": '{"r": 1}' },
      ".dockercfg: expected a JSON object with an object for each registry",
    ],
    ["basic-auth", { user: "ann" }, "the key username or password is required"],
    [
      "basic-auth",
      { username: "ann\n" },
      "username: must not contain control characters such as a line end",
    ],
    [
      "basic-auth",
      { password: "p\0" },
      "password: must not contain control characters such as a line end",
    ],
    ["basic-auth", { username: "a:b", password: "p" }, "username: must not contain a colon"],
    [
      "ssh-auth",
      { "ssh-privatekey": "" },
      "ssh-privatekey: there is no PEM block with a private key",
    ],
    [
      "ssh-auth",
      { "ssh-privatekey": chainPem },
      "ssh-privatekey: there is no PEM block with a private key",
    ],
    [
      "ssh-auth",
      { "ssh-privatekey": openssh("other") },
      "ssh-privatekey: the PEM block contains no key of OpenSSH",
    ],
    [
      "ssh-auth",
      { "ssh-privatekey": keyPem.replace("MI", "AA") },
      "ssh-privatekey: the private key cannot be read",
    ],
  ])("rejects the content of type %s: %j", (type, values, message) => {
    expect(problem(type, values)).toBe(message);
  });
});
