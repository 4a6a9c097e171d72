import { describe, expect, test } from "vitest";
import { clusterSecret } from "../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../test/lab/kube/object-server.ts";
import { Redacted } from "../../lib/redacted.ts";
import { clusterVaultSecretKind } from "../api/kinds.ts";
import { parseSecret } from "../sync/parse-secret.ts";
import { problemsOf, valueProblem } from "./check-value.ts";

const CANARY = "canary-4711";

/** Checks a value as version 3 of the secret `db`, for a resource with this spec. */
function check(spec: object, value = CANARY): Promise<string | undefined> {
  const object = {
    metadata: { name: "shop", namespace: "shop" },
    spec: { connectionRef: { name: "vault" }, ...spec },
  };
  return valueProblem(parseSecret(object).resource, {
    name: "db",
    version: 3,
    value: new Redacted(value),
  });
}

const key = (more: object = {}, remoteRef: object = {}) => ({
  secretKey: "password",
  remoteRef: { key: "db", ...remoteRef },
  ...more,
});

describe("a value that is to be stored", () => {
  test("fits, or breaks the rule of a key", async () => {
    expect(await check({ data: [key({ validate: { minLength: 5 } })] })).toBeUndefined();
    expect(await check({ data: [key({ validate: { maxLength: 5 } })] })).toBe(
      "version 3 of db does not fit the rule maxLength of the key password: expected at most 5 characters",
    );
  });

  test("is checked where it is a member, and where a rule finds it", async () => {
    const member = key({ validate: { minLength: 5 } }, { property: "/a" });
    expect(await check({ data: [member] }, JSON.stringify({ a: "four" }))).toContain("minLength");
    expect(await check({ data: [member] }, "no JSON")).toContain("db");
    const find = { name: { regexp: "^d" } };
    expect(await check({ dataFrom: [{ find }] })).toBeUndefined();
  });

  test("is rendered if the template has no other source", async () => {
    const template = { data: { url: "{{ password }}" } };
    const target = { template, validate: { url: { maxLength: 5 } } };
    expect(await check({ data: [key()], target })).toContain("maxLength");
    const other = { secretKey: "user", remoteRef: { key: "user" } };
    expect(await check({ data: [key(), other], target })).toBeUndefined();
  });

  test("has the shape of the type of a Secret that has no other source", async () => {
    const target = { type: "kubernetes.io/dockerconfigjson" };
    const data = [{ secretKey: ".dockerconfigjson", remoteRef: { key: "db" } }];
    expect(await check({ data, target })).toBe(
      "a Secret of type kubernetes.io/dockerconfigjson: .dockerconfigjson: expected JSON",
    );
    expect(await check({ data, target }, JSON.stringify({ auths: {} }))).toBeUndefined();
    const pair = ["tls.crt", "tls.key"].map((secretKey, index) => ({
      secretKey,
      remoteRef: { key: ["db", "other"][index] },
    }));
    const tls = { data: pair, target: { type: "kubernetes.io/tls" } };
    expect(await check(tls)).toBeUndefined();
  });

  test("needs a resource that follows it", async () => {
    const message = "it does not follow the latest version of db";
    await expect(check({ data: [key({}, { key: "other" })] })).rejects.toThrow(message);
    await expect(check({ data: [key({}, { version: 2 })] })).rejects.toThrow(message);
  });

  test("is in no message", async () => {
    for (const validate of [{ maxLength: 5 }, { format: "JSON" }, { pattern: "^x" }])
      expect(await check({ data: [key({ validate })] })).not.toContain(CANARY);
  });
});

test("a value is checked by the rules of a ClusterVaultSecret of the cluster", async () => {
  const data = [key({ validate: { minLength: 20 } })];
  await using cluster = await ObjectServer.start([clusterSecret("registry", { spec: { data } })]);
  const { kubeconfig } = cluster;
  const flags = { kubeconfig, for: [{ kind: clusterVaultSecretKind, name: "registry" }] };
  const next = { name: "db", version: 3, value: new Redacted(CANARY) };
  expect(await problemsOf(next, flags)).toEqual([
    expect.stringMatching(/^clustervaultsecret\/registry: .* does not fit the rule minLength/u),
  ]);
});

test("a stop signal still ends the command that is to store the value", async () => {
  await using cluster = await ObjectServer.start([clusterSecret("registry")]);
  const { kubeconfig } = cluster;
  const flags = { kubeconfig, for: [{ kind: clusterVaultSecretKind, name: "registry" }] };
  const before = process.listenerCount("SIGINT");
  const next = { name: "login", version: 3, value: new Redacted(CANARY) };
  expect(await problemsOf(next, flags)).toEqual([]);
  expect(process.listenerCount("SIGINT")).toBe(before);
});
