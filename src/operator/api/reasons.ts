interface ReasonInfo {
  /** Action that resolves the problem, shown in docs/status.md#reasons. */
  readonly remedy: string;
  /** Only a user can resolve it: the resource is `Stalled`. */
  readonly stalled: boolean;
}

const transient = (remedy: string): ReasonInfo => ({ remedy, stalled: false });
const stalled = (remedy: string): ReasonInfo => ({ remedy, stalled: true });

/**
 * Every reason of a condition. The list is closed and part of the API; see
 * docs/design/status.md#reasons.
 */
export const reasons = {
  Synced: transient("No action required: the target is in sync with the vault."),
  Suspended: transient("Set spec.suspend to false to resume synchronization."),
  Progressing: transient("Wait: the operator is reconciling the resource."),
  ConnectionNotFound: transient(
    "Create the VaultConnection that spec.connectionRef names, in the same namespace, or the ClusterVaultConnection.",
  ),
  ConnectionNotReady: transient("Check the conditions of the connection."),
  NamespaceNotAllowed: stalled(
    "Extend spec.access of the ClusterVaultConnection for this namespace and name, label the namespace accordingly, or use a VaultConnection.",
  ),
  CredentialsMissing: transient(
    "Create the credentials that spec.auth of the connection names, as the message says: the operator uses a Secret immediately.",
  ),
  AuthFailed: stalled(
    "Fix the credentials Secret of the connection; the operator retries immediately after a change.",
  ),
  ScopeDenied: stalled(
    "Extend spec.scope of the connection, or ask the creator of the secret for read access.",
  ),
  SourceMissing: transient(
    "Correct the name, create the entry in the vault, or share it with the account of the connection. If the message names an owner, name that owner in spec.trustedOwners of the connection or in remoteRef.owner. For a VaultPush: create the Secret, or its key.",
  ),
  SourceRemoved: transient(
    "The vault removed the entry at its delete_time. Create it again, or delete the resource.",
  ),
  RemovalsHeld: transient(
    "Too many names disappeared from the vault together. Check the vault, the account and the scope; to remove their keys, set the annotation that the message names.",
  ),
  Held: transient(
    "The annotation vaultsync.dev/hold keeps the versions that the message shows. To follow the vault again, run vaultsync resume, or remove the annotation.",
  ),
  Frozen: transient(
    "A freeze keeps all versions until the time in the message: the ConfigMap vaultsync-freeze, or the annotation vaultsync.dev/freeze-until of the namespace. To end it, run vaultsync unfreeze, or remove the annotation.",
  ),
  AwaitingApproval: transient(
    "The spec requires an approval (updates.approval) of the newer versions in the message: run vaultsync approve.",
  ),
  OutsideWindow: transient(
    "The windows in spec.updates keep the versions until the next one opens, at the time in the message. To follow now, edit the spec.",
  ),
  Converged: transient("No action required: no pod runs older content."),
  RollingOut: transient(
    "Wait for the workloads in the message: their pods are replaced, or their files renewed. A paused rollout, the strategy OnDelete, a Job, or a pod that does not end needs a user.",
  ),
  NotRestarted: transient(
    "Restart the workloads in the message: their pods got the content at their start. To have the operator restart them, name them in spec.rolloutRestart, or set vaultsync.dev/restart: auto on them.",
  ),
  PodsUnknown: transient(
    "Grant the operator's ServiceAccount the permission to list pods, as its manifests do.",
  ),
  VersionNotFound: stalled("Set version to an existing version, or to latest."),
  VersionRegressed: stalled(
    "Create a newer version, pin a version, or accept the lower one with the annotation vaultsync.dev/accept: <name>@<version>.",
  ),
  Expired: stalled("The vault does not serve expired secrets. Create a new version."),
  AmbiguousName: stalled(
    "Several creators share a secret of this name with the account. Set remoteRef.owner.",
  ),
  RateLimited: transient(
    "The vault throttles the operator, which retries after the delay that the vault requested. If it persists, lower spec.requestsPerSecond of the connection.",
  ),
  VaultUnreachable: transient(
    "Check the vault and the network path to it; the operator retries with backoff.",
  ),
  UnexpectedResponse: transient(
    "Check that spec.url of the connection leads to the vault, not to a proxy or a login page, and that this release supports the version of the vault.",
  ),
  SourceSuspicious: stalled(
    "The new version is empty and the stored one is not, or the same version has other bytes than before. Create a new version, or accept this one with the annotation vaultsync.dev/accept: <name>@<version>. An empty key of a Secret is never pushed.",
  ),
  InvalidSpec: stalled("Correct the field named in the message."),
  InvalidCaBundle: stalled(
    "Create the object that spec.caBundleRef names, with PEM certificates under its key: it is read again within 30 s. Or correct spec.caBundleRef.",
  ),
  InvalidKey: stalled(
    "A key of the target is not valid, required or already used. Rename the entry or the member that the message names, or set another key.",
  ),
  InvalidProperty: stalled(
    "Correct property, decoding or extract, or the value in the vault: the message says what the value lacks.",
  ),
  TemplateError: stalled(
    "Correct spec.target.template, or add what it uses to the sources: the message names the key and the line.",
  ),
  InvalidContent: stalled(
    "The new version does not fit a rule in validate, or the type of the Secret requires other content. Create a version that does, or correct validate or target.type. A VaultPush can push bytes that are not UTF-8 to a file only.",
  ),
  TooLarge: stalled(
    "A Secret or ConfigMap can store at most 1 MiB: split the content over several targets. Of a connection: the list of the vault is longer than the operator reads; the message says what to do.",
  ),
  TargetConflict: stalled(
    "Another object has the name of the target. Choose another target.name, delete that object, or hand it over with the annotation vaultsync.dev/adopt: <kind>/<name>.",
  ),
  AdoptionHeld: stalled(
    "The object that is handed over has keys that the spec does not have. Add them to the spec, or confirm their removal with the annotation that the message names.",
  ),
  TargetMissing: transient(
    "Create the object that creationPolicy Merge adds keys to. The operator checks every 30 s whether it exists.",
  ),
  TargetForbidden: transient(
    "Grant the operator's ServiceAccount the permission named in the message. Where it names a policy or a webhook, choose another target, or change that.",
  ),
  TargetImmutable: stalled(
    "The target is immutable or has another type. Delete it; the operator recreates it, unless creationPolicy is Merge.",
  ),
  TargetRejected: stalled(
    "The API server or an admission policy rejected or changed the target. See the message.",
  ),
  TargetContested: stalled(
    "Another writer changes the target, or the entry that is pushed to, each time the operator repairs it. Stop it, or choose another name. For a VaultPush also: 30 versions of the entry were pushed within an hour.",
  ),
  QuotaExceeded: transient(
    "Raise the quota of the namespace, or that of the account in the vault, or free some of it.",
  ),
  PushLoop: stalled(
    "Another resource reads the entry into the same Secret that is pushed to it. Remove one of the two, or choose another entry.",
  ),
  PushConflict: stalled(
    "Another VaultPush, which is older, pushes to the same entry of the vault. Remove one of the two.",
  ),
} as const satisfies Record<string, ReasonInfo>;

export type Reason = keyof typeof reasons;

export const isReason = (text: string): text is Reason => Object.hasOwn(reasons, text);

/** Reports whether only a user can resolve the problem. */
export function isStalled(reason: Reason): boolean {
  return reasons[reason].stalled;
}

/**
 * Reasons of the events about a target, a pushed entry, a restart or a connection; with {@link
 * reasons} the complete list of event reasons, and part of the API.
 */
export const eventReasons = {
  created: "TargetCreated",
  recreated: "TargetRecreated",
  moved: "TargetMoved",
  updated: "TargetUpdated",
  repaired: "TargetRepaired",
  deleted: "TargetRemoved",
  recovered: "Recovered",
  pushed: "EntryPushed",
  restored: "EntryRestored",
  removed: "EntryDeleted",
  kept: "EntryKept",
  connected: "Connected",
  unconfirmed: "RemovalsNotConfirmed",
  circuitOpened: "CircuitBreakerOpened",
  circuitClosed: "CircuitBreakerClosed",
  restarted: "WorkloadRestarted",
  rolledOut: "RestartRolledOut",
  restartFailed: "RestartFailed",
  restartTimedOut: "RestartTimedOut",
} as const;

const UNFOLLOWED: ReadonlySet<string | undefined> = new Set<Reason>([
  "Suspended",
  "InvalidSpec",
  "ConnectionNotFound",
  "NamespaceNotAllowed",
]);

/** Reports whether a resource with this reason of Ready, if it has one, follows lists of a vault. */
export const followsLists = (reason: string | undefined): boolean => !UNFOLLOWED.has(reason);
