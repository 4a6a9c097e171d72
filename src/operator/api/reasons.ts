interface ReasonInfo {
  /** What a person does about it; shown in the documentation and, where there is nothing better, in the condition's message. */
  readonly remedy: string;
  /** Only a person can mend it: the resource is `Stalled`. */
  readonly stalled: boolean;
}

const transient = (remedy: string): ReasonInfo => ({ remedy, stalled: false });
const stalled = (remedy: string): ReasonInfo => ({ remedy, stalled: true });

/**
 * Every reason a condition can have: one closed list, and API. Source: design, "Status contract".
 * Later kinds and fields add theirs here.
 */
export const reasons = {
  Synced: transient("Nothing to do: the target's bytes matched the vault's."),
  Suspended: transient("Set spec.suspend to false to go on."),
  Progressing: transient("Wait: the operator is working on it."),
  ConnectionNotFound: transient("Create the VaultConnection that spec.connectionRef names, in the same namespace."),
  ConnectionNotReady: transient("See the conditions of the VaultConnection."),
  AuthFailed: stalled("Put right the credentials Secret of the VaultConnection; a change is tried at once."),
  ScopeDenied: stalled("Widen spec.scope of the VaultConnection, or ask the secret's creator for read access."),
  SourceMissing: transient(
    "Create the entry in the vault, share it with the connection's account, or take it out of the resource.",
  ),
  SourceRemoved: transient("The vault removed it at its delete_time. Protect it again, or delete the resource."),
  VersionNotFound: stalled("Name a version that exists, or latest."),
  VersionRegressed: stalled(
    "Protect a newer version, pin one, or accept it with the annotation vaultsync.dev/accept: <name>@<version>.",
  ),
  Expired: stalled("The vault serves no expired secrets: protect a new version."),
  AmbiguousName: stalled("Several creators share this name with the account: set remoteRef.owner."),
  RateLimited: transient("The vault asked for fewer calls; the operator waits as long as it was told."),
  VaultUnreachable: transient("Check the vault and the network path; the operator keeps trying with a growing pause."),
  UnexpectedResponse: transient(
    "Something other than the vault seems to answer, or it answers in a form this version can't read.",
  ),
  SourceSuspicious: stalled(
    "The new version is empty where bytes were before. Accept it with the annotation vaultsync.dev/accept: <name>@<version>.",
  ),
  InvalidSpec: stalled("Correct the field that the message names."),
  InvalidKey: stalled("Give the file a key of letters, digits, '-', '_' and '.' with files[].key."),
  TooLarge: stalled("A Secret or ConfigMap holds at most 1 MiB: spread the content over several targets."),
  TargetConflict: stalled("Another object has the target's name. Choose another target.name, or delete that object."),
  TargetForbidden: transient("Give the operator's ServiceAccount the right that the message names."),
  TargetImmutable: stalled("The target is immutable or has another type: delete it, and it is made anew."),
  TargetRejected: stalled("The API server or an admission policy refuses the target; see the message."),
  QuotaExceeded: transient("Raise the namespace's quota or free some of it."),
} as const satisfies Record<string, ReasonInfo>;

export type Reason = keyof typeof reasons;

/** Whether only a person can mend this. */
export function isStalled(reason: Reason): boolean {
  return reasons[reason].stalled;
}

/** Reasons of the Kubernetes events about a target. With {@link reasons} they are the closed list, and API. */
export const eventReasons = {
  created: "TargetRecreated",
  updated: "TargetUpdated",
  repaired: "TargetRepaired",
  deleted: "TargetRemoved",
} as const;
