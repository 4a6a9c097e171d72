import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import type { ConnectionSpec } from "../../api/vault-connection.ts";
import type { CredentialSource } from "../../vault-client/auth/credentials.ts";
import { CredentialsError } from "../../vault-client/vault-error.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { credentialSource } from "./credential-source.ts";

const signal = new AbortController().signal;
const URL = "https://vault.example.com:8443";
const specOf = (auth: ConnectionSpec["auth"]): ConnectionSpec => ({
  url: URL,
  email: "ops@example.com",
  auth,
});

/** Returns the source of these credentials in the namespace `shop`. */
const sourceOf = (api: InMemoryKubeApi, auth: ConnectionSpec["auth"]): CredentialSource =>
  credentialSource(specOf(auth), { api, namespace: "shop", audiences: [], fingerprint: "1" });

interface Changes {
  readonly data?: Record<string, string>;
  readonly hosts?: string;
  readonly key?: string;
}

/**
 * Reads the password of a connection from the Secret `shop/login`, whose data is given in clear
 * text.
 */
async function passwordOf({ data = { password: "canary-77" }, hosts, key }: Changes) {
  const api = new InMemoryKubeApi();
  const encoded = Object.entries(data).map(([name, text]) => [
    name,
    Buffer.from(text).toString("base64"),
  ]);
  api.put("secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "login",
      namespace: "shop",
      ...(hosts !== undefined && { annotations: { "vaultsync.dev/hosts": hosts } }),
    },
    type: "vaultsync.dev/credentials",
    data: Object.fromEntries(encoded),
  });
  const source = sourceOf(api, { passwordSecretRef: { name: "login", ...(key && { key }) } });
  if (source.kind !== "password") throw new Error("expected a password");
  const { password, version } = await source.read(signal);
  return { password: password.reveal(), version };
}

test("the credentials Secret of a connection is the one of its password or of its tokens", () => {
  expect(credentialsName(specOf({ passwordSecretRef: { name: "login" } }))).toBe("login");
  expect(credentialsName(specOf({ tokenSecretRef: { name: "pair" } }))).toBe("pair");
  const source = sourceOf(new InMemoryKubeApi(), { tokenSecretRef: { name: "pair" } });
  expect(source.kind).toBe("tokens");
  expect(credentialsName(specOf({ serviceAccountRef: { name: "vaultsync" } }))).toBeUndefined();
});

test.each<[string, Changes, string]>([
  ["under the default key", {}, "canary-77"],
  ["under the named key", { data: { pw: "canary-78", password: "other" }, key: "pw" }, "canary-78"],
  ["without the line break at its end", { data: { password: "canary-79\r\n" } }, "canary-79"],
  ["without one line break at its end only", { data: { password: " a\nb\n\n" } }, " a\nb\n"],
  [
    "for the host name of the vault",
    { hosts: "other.example.com, VAULT.example.com" },
    "canary-77",
  ],
  ["for the host and port of the vault", { hosts: "vault.example.com:8443" }, "canary-77"],
])("a password %s is read with the version of its Secret", async (_, changes, password) => {
  expect(await passwordOf(changes)).toEqual({ password, version: "1" });
});

test.each<[string, Changes, string]>([
  [
    "without the key",
    { data: { pw: "canary-80" } },
    "Secret login has no value under the key password: add it, or set passwordSecretRef.key",
  ],
  ["whose value is a line break", { data: { password: "\n" } }, "no value under the key password"],
  [
    "with a key that every object has",
    { key: "constructor" },
    "no value under the key constructor",
  ],
  [
    "for another port",
    { hosts: "vault.example.com:443" },
    "the annotation vaultsync.dev/hosts of Secret login does not allow the host vault.example.com: add it there, or use another Secret",
  ],
  ["for no host", { hosts: "" }, "does not allow the host vault.example.com"],
])("a Secret %s is not used, and the message says why", async (_, changes, message) => {
  const error = await failureOf(passwordOf(changes));
  expect(error).toBeInstanceOf(CredentialsError);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain("canary");
});

test("a missing Secret is reported with the command that creates it", async () => {
  const source = sourceOf(new InMemoryKubeApi(), {
    passwordSecretRef: { name: "login", key: "pw" },
  });
  if (source.kind !== "password") throw new Error("expected a password");
  expect(String(await failureOf(source.read(signal)))).toContain(
    "Secret login not found: create it with kubectl create secret generic login -n shop --type=vaultsync.dev/credentials --from-file=pw=FILE",
  );
});
