/** Group and version of the custom resources. */
export const API_GROUP = "vaultsync.dev";
export const API_VERSION = "v1alpha1";

/** Names of a custom resource in the API of Kubernetes. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly namespaced: boolean;
}

function namespacedKind(kind: string, shortName: string): Kind {
  const singular = kind.toLowerCase();
  return {
    group: API_GROUP,
    version: API_VERSION,
    kind,
    plural: singular.endsWith("sh") ? `${singular}es` : `${singular}s`,
    singular,
    shortName,
    namespaced: true,
  };
}

const clusterKind = (kind: string, shortName: string): Kind => ({
  ...namespacedKind(kind, shortName),
  namespaced: false,
});

export const vaultConnectionKind = namespacedKind("VaultConnection", "vconn");
export const clusterVaultConnectionKind = clusterKind("ClusterVaultConnection", "cvconn");
/** The kinds of connections that a resource may refer to. */
export const connectionKinds = {
  VaultConnection: vaultConnectionKind,
  ClusterVaultConnection: clusterVaultConnectionKind,
} as const;
export type ConnectionKind = keyof typeof connectionKinds;
export const vaultSecretKind = namespacedKind("VaultSecret", "vsec");
export const vaultPushKind = namespacedKind("VaultPush", "vpush");
export const vaultFileKind = namespacedKind("VaultFile", "vfile");
export const clusterVaultSecretKind = clusterKind("ClusterVaultSecret", "cvsec");
export const clusterVaultFileKind = clusterKind("ClusterVaultFile", "cvfile");
/** The kinds of resources that have targets. */
export const syncedKinds = {
  VaultSecret: vaultSecretKind,
  VaultFile: vaultFileKind,
  ClusterVaultSecret: clusterVaultSecretKind,
  ClusterVaultFile: clusterVaultFileKind,
} as const;
