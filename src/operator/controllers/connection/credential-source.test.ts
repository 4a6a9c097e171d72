import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import type { ConnectionSpec } from "../../api/vault-connection.ts";
import type { CredentialSource } from "../../vault-client/auth/credentials.ts";
import { CredentialsError } from "../../vault-client/vault-error.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { credentialSource, SecretTokenStore } from "./credential-source.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { KubeError, type KubeErrorKind } from "../../kube/kube-error.ts";

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

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/**
 * A store of the Secret `shop/pair` with the pair `canary-access`, `canary-refresh` and another
 * key.
 */
function scene(
  changes: { data?: object; type?: string; annotations?: Record<string, string> } = {},
) {
  const api = new InMemoryKubeApi();
  const { data = {}, type = "vaultsync.dev/credentials", annotations = {} } = changes;
  const put = (): unknown =>
    api.put("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "pair", namespace: "shop", uid: "u", annotations },
      type,
      data: {
        access_token: base64("canary-access\n"),
        refresh_token: base64("canary-refresh"),
        note: base64("kept"),
        ...data,
      },
    });
  put();
  const store = new SecretTokenStore(api, {
    namespace: "shop",
    name: "pair",
    url: "https://vault.example.com",
  });
  return { api, put, store, stored: () => api.objects.get("secrets/shop/pair")?.data };
}

test("a pair is read without the line break at its end", async () => {
  const { access, refresh } = await scene().store.read(signal);
  expect(access.reveal()).toBe("canary-access");
  expect(refresh?.reveal()).toBe("canary-refresh");
});

test("a written pair replaces only its two keys", async () => {
  const { store, stored } = scene();
  const pair = await store.read(signal);
  expect(await store.write({ ...pair, access: new Redacted("next") }, signal)).toBe(true);
  expect(stored()).toEqual({
    access_token: base64("next"),
    refresh_token: base64("canary-refresh"),
    note: base64("kept"),
  });
});

test("a refresh token is replaced with the pair, and kept if the vault returned none", async () => {
  const { store, stored } = scene();
  const access = new Redacted("next");
  const [first, refresh] = [await store.read(signal), new Redacted("later")];
  expect(await store.write({ access, refresh, version: first.version }, signal)).toBe(true);
  const { version } = await store.read(signal);
  expect(await store.write({ access, refresh: undefined, version }, signal)).toBe(true);
  expect(stored()).toMatchObject({ refresh_token: base64("later") });
});

test("a pair is not written over a Secret that changed or was deleted since it was read", async () => {
  const { api, put, store, stored } = scene();
  const pair = await store.read(signal);
  put();
  expect(await store.write({ ...pair, access: new Redacted("next") }, signal)).toBe(false);
  expect(stored()).toMatchObject({ access_token: base64("canary-access\n") });
  api.objects.clear();
  expect(await store.write(pair, signal)).toBe(false);
  expect(String(await failureOf(store.read(signal)))).toContain(
    "Secret pair not found: create it with kubectl create secret generic pair -n shop --type=vaultsync.dev/credentials --from-file=access_token=FILE --from-file=refresh_token=FILE",
  );
});

test.each<[string, Parameters<typeof scene>[0], string]>([
  ["of another type", { type: "Opaque" }, "must have the type vaultsync.dev/credentials"],
  [
    "for other hosts",
    { annotations: { "vaultsync.dev/hosts": "other.example.com" } },
    "does not allow the host",
  ],
  [
    "without an access token",
    { data: { access_token: "" } },
    "no access token under the key access_token",
  ],
  [
    "whose token cannot be sent in a header",
    { data: { access_token: base64("a b") } },
    "no access token",
  ],
])("a Secret %s is not used", async (_, changes, message) => {
  const error = await failureOf(scene(changes).store.read(signal));
  expect(error).toBeInstanceOf(CredentialsError);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain("canary");
});

test.each<[KubeErrorKind, boolean]>([
  ["Forbidden", true],
  ["Invalid", true],
  ["Unavailable", false],
  ["NotLeader", false],
])("a write that fails with %s asks for a fix: %j", async (kind, permanent) => {
  const { api, store } = scene();
  const pair = await store.read(signal);
  api.patch = () => Promise.reject(new KubeError({ kind, operation: "patch secrets shop/pair" }));
  const error = await failureOf(store.write(pair, signal));
  expect(error instanceof CredentialsError).toBe(permanent);
});

test("a read that is denied names the permission, and an unavailable API server is passed on", async () => {
  const { api, store } = scene();
  api.get = () =>
    Promise.reject(new KubeError({ kind: "Forbidden", operation: "get secrets shop/pair" }));
  expect(String(await failureOf(store.read(signal)))).toContain(
    "permission denied: get secrets shop/pair",
  );
  api.get = () =>
    Promise.reject(new KubeError({ kind: "Timeout", operation: "get secrets shop/pair" }));
  expect(await failureOf(store.read(signal))).toBeInstanceOf(KubeError);
});
