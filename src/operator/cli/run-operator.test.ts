import { expect, test } from "vitest";
import { runInProcess } from "../../../test/lab/real/processes/run-in-process.ts";

/** `vaultsync operator` with settings that it refuses: one sentence each, and no JSON. */

test.each<[string[], ...string[]]>([
  [["--shards", "0"], "--shards (VAULTSYNC_SHARDS): expected a whole number from 1 to 64"],
  [
    ["--concurrency", "257", "--max-list-bytes", "1"],
    "--max-list-bytes (VAULTSYNC_MAX_LIST_BYTES): expected a whole number from 1024 to 268435456",
    "--concurrency (VAULTSYNC_CONCURRENCY): expected a whole number from 1 to 256",
  ],
  [
    ["--namespaces", "shop,a b"],
    '--namespaces (VAULTSYNC_NAMESPACES): expected names of namespaces, found "a b"',
  ],
  [
    ["--namespaces", "shop", "--namespaces-file", "/etc/names"],
    "--namespaces-file (VAULTSYNC_NAMESPACES_FILE): excludes --namespaces: drop one of them",
  ],
  [
    ["--namespace", "A"],
    '--namespace (VAULTSYNC_NAMESPACE): expected the name of a namespace, found "A"',
  ],
  [
    ["--kubeconfig", ""],
    '--kubeconfig (VAULTSYNC_KUBECONFIG): expected the path of a file, found ""',
  ],
  [
    ["--allowed-secret-types", "helm.sh/release.v1"],
    '--allowed-secret-types (VAULTSYNC_ALLOWED_SECRET_TYPES): must be the type of a Secret, for example Opaque; tokens of Kubernetes, Helm releases and credentials of the operator are never allowed, found "helm.sh/release.v1"',
  ],
  ...["https://vault.example.com", "vault:8200", "vault/v1", "*", "[::1]", "a.example.com."].map(
    (host): [string[], string] => [
      ["--vault-hosts", `vault.example.com,${host}`],
      `--vault-hosts (VAULTSYNC_VAULT_HOSTS): expected hosts such as vault.example.com, *.example.com or 192.0.2.1, without https:// and without a port, found "${host}"`,
    ],
  ),
  [["--restart-window", "2h"], "--restart-window (VAULTSYNC_RESTART_WINDOW): expected 1s to 1h"],
  [["--resync", "5s"], "--resync (VAULTSYNC_RESYNC): expected 0 or at least 1m"],
  [
    ["--shards", "2", "--no-leader-elect"],
    "--shards (VAULTSYNC_SHARDS): must be 1 without leader election: the Leases of the shards keep two replicas from writing the same objects",
  ],
])("vaultsync operator %j is wrong usage, in a sentence", async (args, ...lines) => {
  const { code, stderr } = await runInProcess(["operator", ...args]);
  expect([code, stderr]).toEqual([2, lines.map((line) => `error: ${line}\n`).join("")]);
});

test("a variable is named like its flag", async () => {
  const { code, stderr } = await runInProcess(["operator"], { VAULTSYNC_SHARDS: "65" });
  expect([code, stderr]).toEqual([
    2,
    "error: --shards (VAULTSYNC_SHARDS): expected a whole number from 1 to 64\n",
  ]);
});

test.each(["vault.example.com", "*.example.com", "192.0.2.1", "2001:db8::1", "vault", "V_1.local"])(
  "--vault-hosts %s is a host",
  async (host) => {
    const args = ["operator", "--vault-hosts", host, "--kubeconfig", "/absent"];
    expect((await runInProcess(args)).stderr).toContain("cannot read the kubeconfig /absent");
  },
);
