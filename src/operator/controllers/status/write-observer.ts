/** Action on a target, or on an entry that a VaultPush pushes to. */
type WriteAction = "created" | "updated" | "repaired" | "deleted" | "pushed" | "restored";

/** Observes the writes of targets and entries; implemented by the metrics. Must not throw. */
export interface WriteObserver {
  /** @param kind that of the resource whose target or entry it is */
  written(kind: "VaultSecret" | "VaultFile" | "VaultPush", action: WriteAction): void;
}
