import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs that only changes which coincide make visible. */
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
};
