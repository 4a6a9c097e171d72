import { describe, expect, test } from "vitest";
import { ZodError } from "zod";
import { operatorConfig, type OperatorFlags } from "./config.ts";

test("operatorConfig defaults to leader election, no plain HTTP and all namespaces", () => {
  expect(operatorConfig({})).toEqual({
    clusterName: "kubernetes",
    targetWatch: "on",
    leaderElect: true,
    shards: 1,
    listen: { host: "0.0.0.0", port: 8080 },
    allowHttp: false,
    vaultNoProxy: ["*.svc", "*.cluster.local"],
    allowedSecretTypes: [],
    tokenAudiences: [],
    restartWindow: 30_000,
    volumeSync: 90_000,
    autoRestart: "on",
    valueCacheBytes: 16 * 1024 * 1024,
    maxListBytes: 16 * 1024 * 1024,
    concurrency: 32,
    resync: 1_800_000,
  });
});

test("operatorConfig keeps every given setting", () => {
  const flags: OperatorFlags = {
    kubeconfig: "/etc/kubeconfig",
    namespace: "vaultsync",
    namespaces: ["shop", "pay-2"],
    clusterName: "prod.eu-1",
    targetWatch: "off",
    leaderElect: true,
    shards: 4,
    listen: { host: "127.0.0.1", port: 0 },
    allowHttp: true,
    vaultHosts: ["vault.example.com"],
    vaultProxy: "http://proxy.example.com:3128",
    vaultNoProxy: [],
    allowedSecretTypes: ["example.com/token"],
    tokenAudiences: ["https://vault.example.com"],
    valueCacheBytes: 0,
    maxListBytes: 1_024,
    concurrency: 1,
    restartWindow: 1_000,
    volumeSync: 60_000,
    autoRestart: "off",
    resync: 0,
  };
  expect(operatorConfig(flags)).toEqual(flags);
});

test("operatorConfig returns a frozen object", () => {
  const config = operatorConfig({});
  expect(Object.isFrozen(config)).toBe(true);
});

describe("operatorConfig rejects an invalid setting with the name of its flag", () => {
  test.each<[string, OperatorFlags]>([
    ["kubeconfig", { kubeconfig: "" }],
    ["namespace", { namespace: "" }],
    ["namespaces", { namespaces: [] }],
    ["namespaces.1", { namespaces: ["shop", ""] }],
    ["namespaces.0", { namespaces: ["*"] }],
    ["namespacesFile", { namespacesFile: "" }],
    ["namespacesFile", { namespacesFile: "/etc/vaultsync/namespaces", namespaces: ["shop"] }],
    ["clusterName", { clusterName: "" }],
    ["clusterName", { clusterName: "Prod" }],
    ["clusterName", { clusterName: "prod/eu" }],
    ["clusterName", { clusterName: "prod." }],
    ["clusterName", { clusterName: "c".repeat(64) }],
    ["shards", { shards: 0 }],
    ["shards", { shards: 2, leaderElect: false }],
    ["listen.port", { listen: { host: "::", port: 65_536 } }],
    ["listen.port", { listen: { host: "::", port: -1 } }],
    ["listen.port", { listen: { host: "::", port: 1.5 } }],
    ["vaultHosts", { vaultHosts: [] }],
    ["vaultHosts.0", { vaultHosts: [""] }],
    ["vaultProxy", { vaultProxy: "http://proxy.example.com:3128" }],
    ["vaultProxy", { vaultProxy: "proxy.example.com:3128", vaultHosts: ["vault.example.com"] }],
    ["vaultProxy", { vaultProxy: "http://u:p@proxy", vaultHosts: ["vault.example.com"] }],
    ["vaultProxy", { vaultProxy: "http://proxy/path", vaultHosts: ["vault.example.com"] }],
    ["vaultNoProxy.0", { vaultNoProxy: ["https://vault"] }],
    ["restartWindow", { restartWindow: 999 }],
    ["volumeSync", { volumeSync: 999 }],
    ["restartWindow", { restartWindow: 3_600_001 }],
    ["autoRestart", { autoRestart: "auto" as "on" }],
    ["allowedSecretTypes.0", { allowedSecretTypes: [""] }],
    [
      "allowedSecretTypes.1",
      { allowedSecretTypes: ["example.com/a", "vaultsync.dev/credentials"] },
    ],
    ["allowedSecretTypes.0", { allowedSecretTypes: ["kubernetes.io/service-account-token"] }],
    ["allowedSecretTypes.0", { allowedSecretTypes: ["bootstrap.kubernetes.io/token"] }],
    ["allowedSecretTypes.0", { allowedSecretTypes: ["helm.sh/release.v1"] }],
    ["tokenAudiences.0", { tokenAudiences: [""] }],
    ["tokenAudiences.1", { tokenAudiences: ["vault", "a b"] }],
    ["valueCacheBytes", { valueCacheBytes: -1 }],
    ["maxListBytes", { maxListBytes: 1_023 }],
    ["maxListBytes", { maxListBytes: 1024 ** 3 }],
    ["valueCacheBytes", { valueCacheBytes: Number.NaN }],
    ["concurrency", { concurrency: 0 }],
    ["concurrency", { concurrency: 257 }],
    ["resync", { resync: 59_999 }],
    ["resync", { resync: -1 }],
  ])("%s: %j", (path, flags) => {
    let error: unknown;
    try {
      operatorConfig(flags);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(ZodError);
    expect(error instanceof ZodError && error.issues.map((issue) => issue.path.join("."))).toEqual([
      path,
    ]);
  });
});
