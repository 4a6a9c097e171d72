import type { PlantedBug } from "../planted-bugs.ts";

/** Bugs that only episodes of VaultPushes find. */
export const pushBugs: Readonly<Record<string, PlantedBug>> = {
  "a session that outlives its connection": {
    invariants: ["P7"],
    changes: [
      {
        file: "controllers/connection/leaving-connections.ts",
        from: "const LEAVING_MS = 5 * 60_000;",
        to: "const LEAVING_MS = 500 * 60_000;",
      },
    ],
  },
  "a push of bytes that the vault has": {
    invariants: ["P3"],
    changes: [
      {
        file: "controllers/push/push-attempt.ts",
        from: "if (content !== this.#content) return false;",
        to: "if (content !== '') return false;",
      },
    ],
  },
  "a change in the Secret that is not pushed": {
    invariants: ["P2"],
    changes: [
      {
        file: "push/decide-push.ts",
        from: 'return listed.content === content ? { action: "keep" } :',
        to: 'return listed.content === content || !unchanged ? { action: "keep" } :',
      },
    ],
  },
  "two VaultPushes to one entry": {
    invariants: ["P4"],
    changes: [
      {
        file: "controllers/push/push-rivals.ts",
        from: "if (isOlder(rival, object)) return rival;",
        to: "if (isOlder(object, object)) return rival;",
      },
    ],
  },
  "a takeover while the older VaultPush is unknown": {
    invariants: ["P4"],
    changes: [
      {
        file: "controllers/push/push-attempt.ts",
        from: "if (message === undefined || isLatest) return undefined;",
        to: "if (message !== undefined || !isLatest) return undefined;",
      },
    ],
  },
  "a suspended VaultPush that pushes": {
    invariants: ["P5", "P2"],
    changes: [
      {
        file: "controllers/push/push-reconciler.ts",
        from: "if (!resource.suspend) return resource;",
        to: "if (!resource.suspend || signal !== undefined) return resource;",
      },
    ],
  },
  "metadata that is not sent": {
    invariants: ["P5"],
    changes: [
      {
        file: "vault-client/writes/vault-writes.ts",
        from: "...(metadata && { metadata }),",
        to: "",
      },
    ],
  },
  "no limit of versions": {
    invariants: ["P6"],
    changes: [
      {
        file: "controllers/push/push-budget.ts",
        from: "const MAX_VERSIONS = 30;",
        to: "const MAX_VERSIONS = 300;",
      },
    ],
  },
  "Retain read as Delete": {
    invariants: ["P7"],
    changes: [
      {
        file: "push/push-resource.ts",
        from: "suspend, refreshIntervalMs: parseDuration(refreshInterval), secret: spec.secret.name, items: (spec.data ?? []).map(itemOf), deletionPolicy,",
        to: 'suspend, refreshIntervalMs: parseDuration(refreshInterval), secret: spec.secret.name, items: (spec.data ?? []).map(itemOf), deletionPolicy: deletionPolicy && "Delete",',
      },
    ],
  },
  "a deletion of what others wrote": {
    invariants: ["P8"],
    changes: [
      {
        file: "controllers/push/push-removal.ts",
        from: "if (!isProven(record, listedVersion(listed))) return keep(NOT_LATEST);",
        to: "",
      },
      {
        file: "controllers/push/push-removal.ts",
        from: "if (!(await this.#isPushed(context, item, record, entry, access))) return keep(NOT_LATEST);",
        to: "",
      },
    ],
  },
  "a deletion of a shared entry": {
    invariants: ["P8"],
    changes: [
      {
        file: "controllers/push/push-removal.ts",
        from: 'if (rivals.isShared(access, object, item, isReceived)) return keep("another VaultPush pushes to it");',
        to: "void [rivals, object, isReceived];",
      },
    ],
  },
  "a deletion of what a trusting account pushes to": {
    invariants: ["P8"],
    changes: [
      {
        file: "controllers/push/push-rivals.ts",
        from: "owner === vault.account || (isReceived && trusted.includes(vault.account));",
        to: "owner === vault.account || (isReceived && trusted === undefined);",
      },
    ],
  },
  "an entry that is not followed while its VaultPush is suspended": {
    invariants: ["P8"],
    changes: [
      {
        file: "controllers/push/push-reconciler.ts",
        from: 'if (access.state === "open") followEntries(memory, resource.items, access);',
        to: "void access;",
      },
    ],
  },
  "a record of an entry that the spec does not name any more": {
    invariants: ["P8"],
    changes: [
      {
        file: "controllers/push/push-reconciler.ts",
        from: "forgetOthers(memory, resource.items);",
        to: "if (memory.uid === resource.name) forgetOthers(memory, resource.items);",
      },
    ],
  },
  "a deletion without the check of the response": {
    invariants: ["P9"],
    changes: [
      {
        file: "vault-client/writes/vault-writes.ts",
        from: 'if (!isObject(response) || field(response, "deleted") === undefined)',
        to: "if (response === signal)",
      },
    ],
  },
  "Ready without the bytes of a key": {
    invariants: ["P10", "P2"],
    changes: [
      {
        file: "controllers/push/push-outcome.ts",
        from: "const worst = problems.find(({ reason }) => isStalled(reason)) ?? problems[0];",
        to: "const worst = problems.find(({ reason }) => isStalled(reason));",
      },
    ],
  },
};

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
