import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs that only changes which coincide, and statuses that others remove, make visible. */
export const coincidenceBugs: Readonly<Record<string, PlantedBug>> = {
  "a missing name under the key of an edited rule": {
    invariants: ["I1"],
    changes: [
      {
        file: "sync/find-items.ts",
        from: "item: itemOf(find, name, key),",
        to: "item: itemOf(find, name),",
      },
    ],
  },
  "a removed status that stays removed": {
    invariants: ["I5", "I9"],
    changes: [
      {
        file: "controllers/outcome/status-writer.ts",
        from: 'if (isDeepStrictEqual(before["status"], status)) return false;',
        to: 'if (isDeepStrictEqual(before["status"], status) || isDeepStrictEqual(status, {})) return false;',
      },
    ],
  },
  "a found name that joins its own rule": {
    invariants: ["I27"],
    changes: [
      {
        file: "controllers/sync/reference-index.ts",
        from: "!patterns.some((pattern) => matchesPattern(pattern, source)),",
        to: "true,",
      },
    ],
  },
  "a key that leaves a missing name for another": {
    invariants: ["I1"],
    changes: [
      {
        file: "sync/find-items.ts",
        from: "if (having?.isListed === false) return having;",
        to: "",
      },
    ],
  },
};
