import type { z } from "zod";
import { clusterVaultFileSpec, vaultFileSpec } from "../../api/vault-file.ts";
import { clusterVaultSecretSpec, vaultSecretSpec } from "../../api/vault-secret.ts";
import type { SyncKind } from "../../sync/sync-key.ts";

/** The schemas of specs, by the kind of the resource. */
export const specSchemas: Readonly<Record<SyncKind, z.ZodType>> = {
  VaultSecret: vaultSecretSpec,
  VaultFile: vaultFileSpec,
  ClusterVaultSecret: clusterVaultSecretSpec,
  ClusterVaultFile: clusterVaultFileSpec,
};
