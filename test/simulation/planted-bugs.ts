import { coincidenceBugs } from "./coincidence-bugs.ts";
import { fanOutBugs, topologyBugs } from "./topology-bugs.ts";
import { besideBugs, pushBugs } from "./pushes/push-bugs.ts";
import { versionBugs } from "./version-bugs.ts";

/** One change of a source file below `src/operator`. */
export interface Change {
  readonly file: string;
  /** Text that the file contains exactly once, whatever its line breaks. */
  readonly from: string;
  readonly to: string;
}

/** A bug of the operator that the simulation must find. */
export interface PlantedBug {
  /** The invariants that it violates. */
  readonly invariants: readonly string[];
  readonly changes: readonly Change[];
}

export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "writes without a fence": {
    invariants: ["I7"],
    changes: [
      {
        file: "operator.ts",
        from: "fence === undefined ? engine.api : engine.api.fenced(fence)",
        to: "engine.api",
      },
    ],
  },
  "404 read as an empty list": {
    invariants: ["I1"],
    changes: [
      {
        file: "vault-client/vault-api.ts",
        from: "const response = await transport.request({ ...request, deadlineMs });",
        to: `const received = await transport.request({ ...request, deadlineMs });
             const isGone = received.status === 404 && request.operation.startsWith("list");
             const empty = request.operation === "list_file" ? '{"files":[]}' : '{"secrets":[]}';
             const response = isGone ? { ...received, status: 200, body: new TextEncoder().encode(empty) } : received;`,
      },
    ],
  },
  "writes without a check of the owner": {
    invariants: ["I8"],
    changes: [
      {
        file: "sync/target.ts",
        from: "if (!isOwnedBy(resource, metadata) && !isAdopted(resource, metadata))",
        to: "if (false)",
      },
    ],
  },
  "a restart within the quiet window": {
    invariants: ["I15"],
    changes: [
      { file: "restart/decide-restart.ts", from: "return ms > 0 ?", to: "return ms > windowMs ?" },
    ],
  },
  "a changed content without a restart": {
    invariants: ["I15"],
    changes: [
      {
        file: "restart/decide-restart.ts",
        from: "if (content === restartedFor)",
        to: "if (now >= 0)",
      },
    ],
  },
  "no wake-up after a change in the vault": {
    invariants: ["I5", "I9", "I19"],
    changes: [
      {
        file: "controllers/sync/sync-controller.ts",
        from: 'this.queue.add(key, "vault");',
        to: "",
      },
    ],
  },
  "a held list for a forced sync": {
    invariants: ["I13"],
    changes: [
      {
        file: "vault-client/mirror/list-follower.ts",
        from: "!wait || this.#isAwaited ||",
        to: "!wait ||",
      },
    ],
  },
  "no wake-up after a change of the connection": {
    invariants: ["I5", "I9"],
    changes: [
      {
        file: "controllers/sync/sync-controller.ts",
        from: 'this.#add(key, list !== undefined && this.#changedSinceSync(key, list) ? "vault" : "background");',
        to: "",
      },
    ],
  },
  "a deadline of another connection": {
    invariants: ["I1"],
    changes: [
      {
        file: "controllers/sync/resolve-items.ts",
        from: "before.connection === access.id && (isFollowed || isKept)",
        to: "isFollowed || isKept",
      },
      {
        file: "controllers/sync/resolve-items.ts",
        from: "if (deadlines !== undefined) return deadlines.connection === access.id;",
        to: "if (deadlines !== undefined) return true;",
      },
    ],
  },
  "a digest without the claims": {
    invariants: ["I2", "I5"],
    changes: [
      {
        file: "sync/content.ts",
        from: "for (const [name, claim] of [...synced].sort(byKey))",
        to: "for (const [name, claim] of [] as typeof synced extends ReadonlyMap<infer K, infer V> ? [K, V][] : never)",
      },
    ],
  },
  ...coincidenceBugs,
  ...fanOutBugs,
  ...topologyBugs,
  ...pushBugs,
  ...besideBugs,
  ...versionBugs,
  "Orphan without a release": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/target.ts",
        from: "return metadata.owners.every(({ uid, controller }) => !controller && uid !== resource.uid);",
        to: "return true;",
      },
    ],
  },
  "a changed policy without a release": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/sync/look-up-target.ts",
        from: "return isMerged(resource) && metadata && isOwnedBy(resource, metadata)",
        to: 'return isMerged(resource) && metadata?.uid === "" && isOwnedBy(resource, metadata)',
      },
    ],
  },
  "a merge that takes the keys of others": {
    invariants: ["I16"],
    changes: [
      {
        file: "controllers/sync/merge-keys.ts",
        from: "{ fieldManager: mergeManager(resource) };",
        to: "{ fieldManager: mergeManager(resource), force: true };",
      },
    ],
  },
  "former targets that stay": {
    invariants: ["I5"],
    changes: [
      {
        file: "controllers/sync/sync-reconciler.ts",
        from: "const removed = isReplaced ? removeFormerTargets(",
        to: 'const removed = isReplaced && resource.kind === "VaultFile" ? removeFormerTargets(',
      },
    ],
  },
  "an adoption without a confirmation": {
    invariants: ["I21"],
    changes: [
      {
        file: "sync/held-adoption.ts",
        from: "if (state.adoption.confirmed === `${removed.length}`) return",
        to: "if (state.adoption) return",
      },
    ],
  },
  "no limit of removals": {
    invariants: ["I20"],
    changes: [
      {
        file: "controllers/connection/blast-limit.ts",
        from: "lost >= MIN_HELD && lost",
        to: "lost > all && lost",
      },
    ],
  },
  "a forced sync without its list": {
    invariants: ["I18"],
    changes: [
      {
        file: "controllers/sync/forced-sync.ts",
        from: "if (!(list instanceof Error) ||",
        to: "if (list !== 'requested' ||",
      },
    ],
  },
  "removed values that stay": {
    invariants: ["I19"],
    changes: [
      {
        file: "controllers/sync/new-content.ts",
        from: "if (isUnchanged) return",
        to: "if (isUnchanged || !isExact) return",
      },
    ],
  },
  "whenRemoved read as Delete": {
    invariants: ["I1"],
    changes: [
      {
        file: "sync/resolve-gone.ts",
        from: 'resource.whenRemoved === "Delete" ||',
        to: "resource.whenRemoved ||",
      },
    ],
  },
  "secrets of a stranger": {
    invariants: ["I5"],
    changes: [
      {
        file: "api/received-secrets.ts",
        from: "if (isTrusted(record, trust)) return false;",
        to: "return false;",
      },
    ],
  },
  "a stranger's secret of the name of a removed one": {
    invariants: ["I19"],
    changes: [
      {
        file: "sync/resolve.ts",
        from: "untrusted !== undefined && remembered.isGone !== true)",
        to: "untrusted !== undefined)",
      },
    ],
  },
  "an absence of a name instead of an entry": {
    invariants: ["I5", "I19"],
    changes: [
      {
        file: "controllers/sync/resolve-items.ts",
        from: "? { owner, rule } : undefined;",
        to: "? { rule } : undefined;",
      },
      {
        file: "controllers/connection/removals.ts",
        from: "if (selection === undefined && !this",
        to: "if (selection?.rule === undefined && !this",
      },
    ],
  },
  "an edited policy without the blast limit": {
    invariants: ["I20"],
    changes: [
      {
        file: "controllers/connection/removals.ts",
        from: "const isHeld = wasHeld || this.#limit.isExceeded(this);",
        to: "const isHeld = wasHeld;",
      },
    ],
  },
  "a hold that no status shows": {
    invariants: ["I20"],
    changes: [
      {
        file: "sync/sync-status.ts",
        from: "unconfirmed: input.unconfirmed.has(id) || undefined,",
        to: "unconfirmed: undefined,",
      },
    ],
  },
  "a rule that ignores metadata": {
    invariants: ["I2", "I5"],
    changes: [
      {
        file: "sync/find-items.ts",
        from: "return Object.entries(find?.metadata ?? {}).every(([name, value]) => metadata[name] === value);",
        to: "return true;",
      },
    ],
  },
  "a next target without what is missing": {
    invariants: ["I1"],
    changes: [{ file: "controllers/sync/find-sources.ts", from: "...formers()", to: "...[]" }],
  },
  "a found name without a key that stops all names": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/find-items.ts",
        from: "const excess = tooMany(all.items);",
        to: 'const [no] = all.unusable; const excess = (no && notReady("InvalidKey", no.why)) ?? tooMany(all.items);',
      },
    ],
  },
  "a changed template without a write": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/item-form.ts",
        from: "[FUNCTIONS_VERSION, Object.entries(template.data)];",
        to: "[FUNCTIONS_VERSION];",
      },
    ],
  },
  "no decoding": {
    invariants: ["I2", "I5"],
    changes: [
      {
        file: "sync/transform.ts",
        from: "if (decoding === undefined ||",
        to: "if (decoding !== 'None' ||",
      },
    ],
  },
  "typed Secrets of any content": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/secret-shape.ts",
        from: 'checks.get(target.type ?? "")?.(',
        to: 'checks.get("")?.(',
      },
    ],
  },
  "values of any content": {
    invariants: ["I22"],
    changes: [
      {
        file: "sync/make-content.ts",
        from: "if (problem !== undefined) return problem;",
        to: "if (problem === null) return problem;",
      },
    ],
  },
  "labels that are lost": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/managed-metadata.ts",
        from: "return isRecorded && isSame(policy.labels, labels)",
        to: "return true || isSame(policy.labels, labels)",
      },
    ],
  },
};

/** Reports whether only episodes of VaultPushes find a bug. */
export const isPushBug = (bug: string): boolean => Object.hasOwn(pushBugs, bug);
