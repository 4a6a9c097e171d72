/** Reasons of the Kubernetes events about a target. With {@link reasons} they are the closed list, and API. */
export const eventReasons = {
  created: "TargetRecreated",
  updated: "TargetUpdated",
  repaired: "TargetRepaired",
  deleted: "TargetRemoved",
} as const;
