import type { Command } from "commander";
import { operatorCommand } from "../../../src/operator/cli/operator.ts";
import { type FlagRules, operatorFlagRules, vaultFlagRules } from "./flag-rules.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";

/** A Helm chart of this repository. */
export interface Chart {
  readonly folder: string;
  /** Returns the command that its container runs. */
  readonly command: () => Command;
  /** Flags of the command that the chart sets itself. */
  readonly ownFlags: readonly string[];
  /** Rules of the schema for the values of flags, in addition to their type. */
  readonly flagRules: FlagRules;
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
  flagRules: operatorFlagRules,
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
  flagRules: vaultFlagRules,
};

export const charts: readonly Chart[] = [operator, vault];
