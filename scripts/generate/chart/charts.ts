import type { Command } from "commander";
import { operatorCommand } from "../../../src/operator/cli/operator.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";

/** A Helm chart of this repository. */
export interface Chart {
  readonly folder: string;
  /** Returns the command that its container runs. */
  readonly command: () => Command;
  /** Flags of the command that the chart sets itself. */
  readonly ownFlags: readonly string[];
}

const operator: Chart = {
  folder: "deploy/chart",
  command: operatorCommand,
  // Two operators run during a rolling update: leaderElect cannot be a choice.
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
  command: () => {
    const serve = vaultCommand().commands.find((command) => command.name() === "serve");
    if (serve === undefined) throw new Error("there is no command vault serve");
    return serve;
  },
  ownFlags: [...inDeployment, ...ofDevelopment],
};

export const charts: readonly Chart[] = [operator, vault];
