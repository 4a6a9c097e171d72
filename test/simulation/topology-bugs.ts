import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs that only some flags, and what is around the operator, make visible. */
export const topologyBugs: Readonly<Record<string, PlantedBug>> = {
  "resources of all shards in each of them": {
    invariants: ["I7"],
    changes: [
      {
        file: "shards/shard-of.ts",
        from: "secrets: filteredView(objects.secrets, isResourceOfShard)",
        to: "secrets: objects.secrets",
      },
    ],
  },
  "a watch of all namespaces with --namespaces": {
    invariants: ["I8"],
    changes: [
      {
        file: "operator.ts",
        from: "(config.namespaces ?? [ALL_NAMESPACES])",
        to: "[ALL_NAMESPACES]",
      },
    ],
  },
  "a start that waits for all namespaces": {
    invariants: ["I5"],
    changes: [
      {
        file: "kube/cache/namespace-watches.ts",
        from: "if (isServing && this.isSettled) this.#ready.resolve();",
        to: "if (isServing && this.listing === 0) this.#ready.resolve();",
      },
    ],
  },
  "a list of namespaces that is read once": {
    invariants: ["I5"],
    changes: [
      {
        file: "operator.ts",
        from: "if (read !== undefined) {",
        to: "if (read !== undefined && clock.monotonic() < 0) {",
      },
    ],
  },
  "a watch of Secrets with --target-watch=off": {
    invariants: ["I8"],
    changes: [
      {
        file: "operator.ts",
        from: 'const watchSecrets = config.targetWatch === "on";',
        to: "const watchSecrets = true;",
      },
    ],
  },
  "restarts of workloads with --auto-restart=off": {
    invariants: ["I15"],
    changes: [
      { file: "operator.ts", from: 'auto: config.autoRestart === "on",', to: "auto: true," },
    ],
  },
  "a held request that is cut as a failure": {
    invariants: ["I5", "I9"],
    changes: [
      {
        file: "vault-client/mirror/list-follower.ts",
        from: "request.held && tookMs >= MIN_CUT_MS && isCut(error)",
        to: "request.held && tookMs < 0 && isCut(error)",
      },
    ],
  },
  "another JSON object read as an empty list": {
    invariants: ["I1"],
    changes: [
      {
        file: "vault-client/readers/read-lists.ts",
        from: "const { [name]: list, error } =",
        to: "const { [name]: list = [] as unknown, error } =",
      },
    ],
  },
  "controllers compared by name": {
    invariants: ["I8"],
    changes: [
      {
        file: "sync/target.ts",
        from: "owner.controller && controllerName(owner) !== ownerName(resource)",
        to: "owner.controller && owner.name !== resource.name",
      },
    ],
  },
  "a merge without the version that was read": {
    invariants: ["I2", "I4"],
    changes: [
      {
        file: "controllers/sync/render-target.ts",
        from: "const metadata = { name, namespace: resource.namespace, uid, resourceVersion, ...own };",
        to: "const metadata = { name, namespace: resource.namespace, uid: resourceVersion && uid, ...own };",
      },
    ],
  },
  "the access token stored as the refresh token": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/connection/credential-source.ts",
        from: "[REFRESH]: encoded(refresh.reveal())",
        to: "[REFRESH]: encoded(access.reveal())",
      },
    ],
  },
  "no types of Secrets from the flags": {
    invariants: ["I5"],
    changes: [
      {
        file: "operator.ts",
        from: "allowedSecretTypes: config.allowedSecretTypes,",
        to: "allowedSecretTypes: [],",
      },
    ],
  },
};

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
        from: "if (pending.length > 0)",
        to: "if (pending.length > parts.length)",
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
