/** Labels, annotations and types that the operator writes or understands. They are API: changing one is a breaking change. */

/** Marks every target of ours; the value is {@link MANAGED_BY}. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGED_BY = "vaultsync";

/** On a target: the resource that owns it, `<kind>/<name>`. */
export const OWNER_ANNOTATION = "vaultsync.dev/owner";
/** On a target: the HMAC of its content under the installation's key. */
export const CONTENT_ANNOTATION = "vaultsync.dev/content";
/** On a target: JSON of its keys, each with the version its bytes belong to. */
export const VERSIONS_ANNOTATION = "vaultsync.dev/versions";
/** On a target: JSON of its keys, each with a digest of the vault entry that feeds it and when the version was made. */
export const SOURCES_ANNOTATION = "vaultsync.dev/sources";

/** On a resource: `name@version`, comma-separated: take this suspicious or lower version all the same. */
export const ACCEPT_ANNOTATION = "vaultsync.dev/accept";

/** On a credentials Secret: comma-separated hosts that may receive it. */
export const HOSTS_ANNOTATION = "vaultsync.dev/hosts";
/** Type a Secret must have to be used as credentials; no target may have it. */
export const CREDENTIALS_TYPE = "vaultsync.dev/credentials";

/** Name the operator writes under (`managedFields`, events). */
export const FIELD_MANAGER = "vaultsync";
