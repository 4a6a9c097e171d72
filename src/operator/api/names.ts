/**
 * Labels, annotations and types that the operator writes or reads. They are API: changing one is a
 * breaking change.
 */

/** On every target; the value is {@link MANAGED_BY}. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
export const MANAGED_BY = "vaultsync";

/** On a target: the resource that owns it, `<kind>/<name>`. */
export const OWNER_ANNOTATION = "vaultsync.dev/owner";
/**
 * On a target: the HMAC of its content under the installation's key. On a pod template: a digest of
 * all content at the last restart.
 */
export const CONTENT_ANNOTATION = "vaultsync.dev/content";
/** On a target: JSON of its keys, each with the version of its bytes. */
export const VERSIONS_ANNOTATION = "vaultsync.dev/versions";
/**
 * On a target: JSON of its keys, each with a digest of the vault entry it is read from and the time
 * the version was created.
 */
export const SOURCES_ANNOTATION = "vaultsync.dev/sources";

/** On a target: JSON of the names of the labels and annotations that its resource requests. */
export const METADATA_ANNOTATION = "vaultsync.dev/metadata";

/**
 * Domain of the annotations that resources with `creationPolicy: Merge` set on their target, one
 * each: JSON of content, versions and sources.
 */
export const MERGE_DOMAIN = "merge.vaultsync.dev";

/**
 * Label of an object while resources with `creationPolicy: Merge` have keys in it: the watch
 * selects by this label. Each of these resources applies the label; it disappears with the keys of
 * the last one.
 */
export const MERGED_LABEL = "vaultsync.dev/merged";

/**
 * On an object that its owner hands over to a resource: `<kind>/<name>` of that resource. The first
 * write removes it.
 */
export const ADOPT_ANNOTATION = "vaultsync.dev/adopt";

/**
 * On a resource: comma-separated `name@version` of suspicious or lower versions that a user
 * accepts.
 */
export const ACCEPT_ANNOTATION = "vaultsync.dev/accept";

/**
 * On a resource: the versions that it keeps although the vault has newer ones, JSON or `*` for all;
 * see `parseHold`.
 */
export const HOLD_ANNOTATION = "vaultsync.dev/hold";

/** On a resource: `status.approvalDigest` of the versions that a user approves. */
export const APPROVE_ANNOTATION = "vaultsync.dev/approve";

/** ConfigMap in the operator's namespace: until when no target follows newer versions. */
export const FREEZE_CONFIG_MAP = "vaultsync-freeze";
/** On a namespace: the time until which none of its targets follows newer versions. */
export const FREEZE_ANNOTATION = "vaultsync.dev/freeze-until";

/**
 * On a resource: any text; another one requests an immediate sync, and `status.lastForceSync`
 * echoes it when that is done.
 */
export const FORCE_SYNC_ANNOTATION = "vaultsync.dev/force-sync";

/**
 * Finalizer of a VaultPush with the deletion policy `Delete`: its entries are deleted in the vault
 * before it is.
 */
export const PUSH_FINALIZER = "vaultsync.dev/push";

/**
 * On a VaultConnection, and on an object that is handed over: the number of removals that a user
 * confirms. The operator deletes the annotation when it makes them.
 */
export const CONFIRM_REMOVALS_ANNOTATION = "vaultsync.dev/confirm-removals";

/**
 * On a workload: `auto` restarts it when the content of a Secret or ConfigMap changes that its pods
 * use and the operator writes.
 */
export const RESTART_ANNOTATION = "vaultsync.dev/restart";
/**
 * On a workload: JSON of the content that its pods have, and of its last restart. Set by the
 * operator.
 */
export const RESTART_STATE_ANNOTATION = "vaultsync.dev/restart-state";

/**
 * On a credentials Secret: comma-separated hosts that may receive it; see
 * docs/design/security.md#host-policy.
 */
export const HOSTS_ANNOTATION = "vaultsync.dev/hosts";
/** Required type of a credentials Secret; a target must not have it. */
export const CREDENTIALS_TYPE = "vaultsync.dev/credentials";

/**
 * Field manager of all writes of the operator; for merged keys and restarts, followed by `:` and
 * more.
 */
export const FIELD_MANAGER = "vaultsync";
