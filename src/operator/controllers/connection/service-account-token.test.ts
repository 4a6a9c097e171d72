import { describe, expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import type { ConnectionSpec } from "../../api/vault-connection.ts";
import { KubeError, type KubeErrorKind } from "../../kube/kube-error.ts";
import { CredentialsError, MissingCredentialsError } from "../../vault-client/vault-error.ts";
import { serviceAccountToken } from "./service-account-token.ts";

const signal = new AbortController().signal;

interface Changes {
  readonly url?: string;
  readonly audience?: string;
  readonly audiences?: readonly string[];
  readonly fingerprint?: string;
  readonly failure?: KubeErrorKind;
  readonly exists?: boolean;
}

/** The token of the ServiceAccount `shop/vaultsync`. */
function scene(changes: Changes = {}) {
  const { url = "https://vault.example.com:8443/", audience, audiences = [] } = changes;
  const { fingerprint = "1", failure, exists = true } = changes;
  const api = new InMemoryKubeApi();
  const metadata = { namespace: "shop", name: "vaultsync" };
  if (exists) api.put("serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata });
  if (failure !== undefined)
    api.requestToken = () =>
      Promise.reject(
        new KubeError({ kind: failure, operation: "create serviceaccounts/token shop/vaultsync" }),
      );
  const serviceAccountRef = { name: "vaultsync", ...(audience !== undefined && { audience }) };
  const spec: ConnectionSpec = { url, email: "ops@example.com", auth: { serviceAccountRef } };
  const options = { api, namespace: "shop", audiences, fingerprint };
  return { api, source: serviceAccountToken(spec, "vaultsync", options) };
}

test("a token is requested for ten minutes and the address of the vault", async () => {
  const { api, source } = scene();
  const tokens = [await source.read(signal), await source.read(signal)];
  expect(tokens.map((token) => token.reveal())).toEqual(["token-1", "token-2"]);
  const request = "shop/vaultsync https://vault.example.com:8443 600";
  expect(api.tokenRequests).toEqual([request, request]);
});

describe("a token is not sent to a service that can use it elsewhere", () => {
  test.each([
    "https://vault.example.com",
    "https://kubernetes.default.svc",
    "kubernetes",
    "https://vault.example.com:8443.evil.example.com",
  ])("audience %s", async (audience) => {
    const { api, source } = scene({ audience });
    expect(String(await failureOf(source.read(signal)))).toContain(
      `spec.auth.serviceAccountRef.audience: a token for ${audience} is not sent to this vault; omit the field, or add the audience to --token-audiences of the operator`,
    );
    expect(api.tokenRequests).toEqual([]);
  });

  test("unless it is another address of the same host", async () => {
    const { api, source } = scene({ audience: "https://vault.example.com:8443/other" });
    await source.read(signal);
    expect(api.tokenRequests).toHaveLength(1);
  });

  test("unless the operator allows the audience", async () => {
    const { api, source } = scene({ audience: "vault", audiences: ["vault"] });
    await source.read(signal);
    expect(api.tokenRequests).toEqual(["shop/vaultsync vault 600"]);
  });
});

test("a missing ServiceAccount is waited for, and the message has the command", async () => {
  const error = await failureOf(scene({ exists: false }).source.read(signal));
  expect(error).toBeInstanceOf(MissingCredentialsError);
  expect(String(error)).toContain(
    "ServiceAccount vaultsync not found: create it with kubectl create serviceaccount vaultsync -n shop",
  );
});

test.each<[KubeErrorKind, string]>([
  [
    "Forbidden",
    "permission denied: create serviceaccounts/token shop/vaultsync; add vaultsync to the value serviceAccountLogins of the chart",
  ],
  ["Invalid", "the API server rejects a token of ServiceAccount vaultsync for the audience"],
])("%s of the API server names what to do", async (failure, message) => {
  const error = await failureOf(scene({ failure }).source.read(signal));
  expect(error).toBeInstanceOf(CredentialsError);
  expect(String(error)).toContain(message);
});

test("an unavailable API server is no failure of the credentials", async () => {
  const error = await failureOf(scene({ failure: "Unavailable" }).source.read(signal));
  expect(error).toBeInstanceOf(KubeError);
});

test("rejections are counted for one connection and its spec, and named by the ServiceAccount", () => {
  const [first, same, changed] = ["1", "1", "2"].map(
    (fingerprint) => scene({ fingerprint }).source,
  );
  expect(first!.id).toBe(same!.id);
  expect(first!.id).not.toBe(changed!.id);
  expect(first!.version).toMatch(/^ServiceAccount\/vaultsync\/[0-9a-f]{8}$/u);
  expect([same!.version === first!.version, changed!.version === first!.version]).toEqual([
    true,
    false,
  ]);
});
