export const NAMESPACES = ["one", "two"] as const;
/** A namespace that does not exist at first, in which only resources of the cluster have targets. */
export const LATE_NAMESPACE = "three";
export const VAULTS = ["a", "b"] as const;
export const SYSTEM_NAMESPACE = "vaultsync-system";
export const CREATOR = "ann@example.com";
export const PASSWORD = "password-of-the-account";
/** The version that users write into a target: no source has as many. */
export const EDITED_VERSION = 99;

/** The vault account of the ClusterVaultConnection. */
export const CLUSTER_ACCOUNT = "ops-cluster@example.com";

/** Returns the vault account of a namespace. */
export const accountOf = (namespace: string): string => `ops-${namespace}@example.com`;
export const urlOf = (vault: string): string => `https://vault-${vault}.example.com`;
/** Returns the vault at a URL. */
export const vaultAt = (url: string): string =>
  VAULTS.find((vault) => new URL(url).host === new URL(urlOf(vault)).host) ?? "a";
