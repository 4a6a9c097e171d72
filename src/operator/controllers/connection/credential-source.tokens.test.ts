import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { KubeError, type KubeErrorKind } from "../../kube/kube-error.ts";
import { CredentialsError } from "../../vault-client/vault-error.ts";
import { SecretTokenStore } from "./credential-source.ts";

const signal = new AbortController().signal;
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
