import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs in the choice of the version that a target has. */
export const versionBugs: Readonly<Record<string, PlantedBug>> = {
  "a refreshInterval without an end": {
    invariants: ["I3", "I5"],
    changes: [
      {
        file: "sync/update-gate.ts",
        from: "Math.min(refreshIntervalMs, syncedAt + refreshIntervalMs - now)",
        to: "refreshIntervalMs",
      },
    ],
  },
  "a refreshInterval that is ignored": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/update-gate.ts",
        from: 'Date.parse(before.syncedAt ?? "")',
        to: 'Date.parse("")',
      },
    ],
  },
  "an emptied status that opens a gate": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/update-gate.ts",
        from: "(reconciled.before.observedGeneration ?? -1) >= 0 && isNewSpec(reconciled)",
        to: "isNewSpec(reconciled)",
      },
    ],
  },
  "removed bytes that stay under another key": {
    invariants: ["I19"],
    changes: [
      {
        file: "sync/gone-claims.ts",
        from: "if (sources === undefined) continue;",
        to: "if (sources !== undefined) continue;",
      },
    ],
  },
  "a renamed key that leaves with its bytes": {
    invariants: ["I1"],
    changes: [
      {
        file: "controllers/sync/former-keys.ts",
        from: "if (keys.size === 0) return undefined;",
        to: "if (keys.size >= 0) return undefined;",
      },
    ],
  },
  "a hold that ignores the version which it names": {
    invariants: ["I5"],
    changes: [
      {
        file: "sync/gate.ts",
        from: 'return { reason: "Held", version: hold.versions.get(id) };',
        to: 'return { reason: "Held", version: id === "" ? 1 : undefined };',
      },
    ],
  },
  "a hold of everything that follows the vault": {
    invariants: ["I23"],
    changes: [
      {
        file: "sync/resolve.ts",
        from: "return before < latest ? { ...found, candidate } : undefined;",
        to: "return gate.opensInMs !== undefined && before < latest ? { ...found, candidate } : undefined;",
      },
    ],
  },
  "a hold that lets a frozen target get found names": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/resolve.ts",
        from: "if (gate === undefined || isHeld(resource, item, remembered)) return undefined;",
        to: "if (gate === undefined || resource.hold !== undefined) return undefined;",
      },
    ],
  },
  "a freeze that ends too early": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/freeze.ts",
        from: "endsAt > now && (of === undefined ||",
        to: "endsAt > now + 240_000 && (of === undefined ||",
      },
    ],
  },
  "an approval of any versions": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/gate.ts",
        from: "if (approved === digest) return undefined;",
        to: "if (approved !== undefined && digest !== undefined) return undefined;",
      },
    ],
  },
  "windows that never close": {
    invariants: ["I24"],
    changes: [
      {
        file: "sync/gate.ts",
        from: "if (opensAt === undefined) return undefined;",
        to: "if (opensAt === undefined || opensAt > 0) return undefined;",
      },
    ],
  },
  "a restart outside of its windows": {
    invariants: ["I15"],
    changes: [
      {
        file: "restart/decide-restart.ts",
        from: "if (opensAt !== undefined && opensAt - now > ms)",
        to: "if (opensAt !== undefined && opensAt - now > 86_400_000)",
      },
    ],
  },
  "a proof without the pods that terminate": {
    invariants: ["I26"],
    changes: [
      {
        file: "restart/running-pod.ts",
        from: 'if (phase === "Succeeded" || phase === "Failed") return undefined;',
        to: 'if (phase === "Succeeded" || phase === "Failed" || parsed.metadata.deletionTimestamp !== undefined) return undefined;',
      },
    ],
  },
  "every version accepted": {
    invariants: ["I4"],
    changes: [
      {
        file: "sync/sync-resource.ts",
        from: "return resource.accepted.has(`${item.source}@${version}`);",
        to: "return resource.accepted.size >= 0;",
      },
    ],
  },
};
