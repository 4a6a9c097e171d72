import type { PlantedBug } from "../planted-bugs.ts";

/** Bugs that only episodes find in which resources read the entries of VaultPushes. */
export const besideBugs: Readonly<Record<string, PlantedBug>> = {
  "a loop of one Secret and one entry": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/push/push-rivals.ts",
        from: "if (reader !== undefined) {",
        to: 'if (reader === "") {',
      },
    ],
  },
  "a target that is pushed at the next check": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/push/pushes.ts",
        from: "stack.use(targetSecrets.onChange(({ key }) => controller.secretChanged(key)));",
        to: "stack.use(targetSecrets.onChange(() => undefined));",
      },
      {
        file: "controllers/push/push-controller.ts",
        from: "this.#addOwn(this.#options.rivals.readerChanged(kind, change));",
        to: "this.#options.rivals.readerChanged(kind, change);",
      },
    ],
  },
};
