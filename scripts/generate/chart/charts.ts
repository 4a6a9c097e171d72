import type { Command } from "commander";
import { operatorCommand } from "../../../src/operator/cli/operator.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";
import type { ManifestSource } from "./copied-manifests.ts";

/** A Helm chart of this repository. */
export interface Chart {
  readonly folder: string;
  readonly sources: readonly ManifestSource[];
  /** Returns the command that its container runs. */
  readonly command: () => Command;
  /** Flags of the command that the chart sets itself. */
  readonly ownFlags: readonly string[];
}

const operator: Chart = {
  folder: "deploy/chart",
  sources: [
    { from: "crds", to: "crds" },
    { from: "deploy/cluster", to: "cluster", skipped: ["namespace.yaml", "../policies"] },
    { from: "deploy/policies", to: "policies" },
    { from: "deploy/base", to: "base", skipped: ["deployment.yaml", "network-policy.yaml"] },
    { from: "deploy/namespaced", to: "namespaced", skipped: ["../base"] },
    { from: "deploy/namespaced/tenant", to: "tenant" },
    { from: "deploy/monitoring/operator", to: "monitoring" },
  ],
  command: operatorCommand,
  // Two operators run during a rolling update, so that leaderElect is no choice.
  ownFlags: [
    "kubeconfig",
    "namespace",
    "namespaces",
    "namespacesFile",
    "targetWatch",
    "listen",
    "leaderElect",
  ],
};

const inDeployment = [
  "listen",
  "metricsListen",
  "tlsCertFile",
  "tlsKeyFile",
  "data",
  "masterKeyFile",
  "auditLog",
  "smtpUrlFile",
];
/**
 * Flags that name files which are not mounted or programs that the image lacks, or that are for
 * other set-ups.
 */
const ofDevelopment = [
  "masterKeyCommand",
  "smtpCaFile",
  "mailDir",
  "allowHttpListen",
  "dev",
  "devUsers",
];

const vault: Chart = {
  folder: "deploy/vault-chart",
  sources: [
    { from: "deploy/vault", to: "vault", skipped: ["stateful-set.yaml", "network-policy.yaml"] },
    { from: "deploy/monitoring/vault", to: "monitoring" },
  ],
  command: () => {
    const serve = vaultCommand().commands.find((command) => command.name() === "serve");
    if (serve === undefined) throw new Error("there is no command vault serve");
    return serve;
  },
  ownFlags: [...inDeployment, ...ofDevelopment],
};

export const charts: readonly Chart[] = [operator, vault];
