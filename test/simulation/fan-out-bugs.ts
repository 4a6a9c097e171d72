import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs of resources with targets in several namespaces. */
export const fanOutBugs: Readonly<Record<string, PlantedBug>> = {
  "unselected targets that are deleted": {
    invariants: ["I1", "I29"],
    changes: [
      {
        file: "controllers/sync/release-unselected.ts",
        from: "import { dropOwner } from",
        to: "import { deleteTarget as dropOwner } from",
      },
    ],
  },
  "labels of a namespace that are read once": {
    invariants: ["I5", "I29", "I30"],
    changes: [
      {
        file: "controllers/fan-out/fanned-out.ts",
        from: "else this.#update(resource, namespace, change.now);",
        to: 'else if (change.type === "added") this.#update(resource, namespace, change.now);',
      },
    ],
  },
  "owner references that stay after a restart": {
    invariants: ["I29"],
    changes: [
      {
        file: "controllers/sync/syncs.ts",
        from: "stack.use(resources.onUnselected((key) => controller.unselected(kind, key)));",
        to: "stack.use(resources.onUnselected(() => undefined));",
      },
    ],
  },
  "Ready before all namespaces are synced": {
    invariants: ["I30"],
    changes: [
      {
        file: "controllers/fan-out/fan-out-status.ts",
        from: "if (pending > 0)",
        to: "if (pending > parts.length)",
      },
    ],
  },
  "annotations of a resource that no namespace follows": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/fan-out/fanned-out.ts",
        from: "shown.deletionTimestamp === metadata.deletionTimestamp && JSON.stringify(shown.annotations) === JSON.stringify(metadata.annotations);",
        to: "shown.deletionTimestamp === metadata.deletionTimestamp;",
      },
    ],
  },
  "names of namespaces without the selector": {
    invariants: ["I5", "I28", "I29", "I30"],
    changes: [
      {
        file: "api/fan-out.ts",
        from: "if (selected.namespaceSelector === undefined) return false;",
        to: "if (selected.namespaces !== undefined || selected.namespaceSelector === undefined) return false;",
      },
    ],
  },
};
