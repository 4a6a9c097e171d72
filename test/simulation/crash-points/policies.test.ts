import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { connect, type Scenario, sync, synced } from "./scenario.ts";
import { testScenarios } from "./test-scenarios.ts";
import { ACCOUNT, TEAM, type World } from "./world.ts";

/** A connection that lists often: an absence is proven soon. */
function connectOften(world: World): void {
  connect(world, { follow: "Interval", refreshInterval: "5s" });
}

function deleteSecrets(world: World, names: readonly string[]): void {
  for (const name of names) world.vault.act(ACCOUNT, "delete", { key_name: name });
}

/** Confirms the number of held removals, whenever the operator asks. */
function confirmRemovals(world: World): void {
  const connection = world.server.get(vaultConnectionKind, { namespace: TEAM, name: "vault" });
  const { conditions = [] } = (connection["status"] ?? {}) as {
    conditions?: { type: string; message: string }[];
  };
  const number = /confirm-removals=(\d+)/.exec(
    conditions.find(({ type }) => type === "RemovalsHeld")?.message ?? "",
  )?.[1];
  if (number !== undefined) {
    const annotations = {
      ...connection.metadata.annotations,
      [CONFIRM_REMOVALS_ANNOTATION]: number,
    };
    world.server.replace(vaultConnectionKind, {
      ...connection,
      metadata: { ...connection.metadata, annotations },
    });
  }
  world.clock.timer(15_000, () => confirmRemovals(world));
}

/**
 * Time after which also a request without a response was repeated: the next act finds the same
 * state.
 */
const AFTER_TIMEOUT_MS = 60_000;
/** The content of a Secret of a user. */
const THEIRS = { type: "Opaque", data: { theirs: "dGhlaXJz" } };
const NAMES = ["a", "b", "c", "d", "e", "f"];

const policies: readonly Scenario[] = [
  {
    name: "other labels and annotations of the target",
    setUp: (world) => {
      synced("password")(world);
      sync(world, ["password"], {
        labels: { team: "a", tier: "x" },
        annotations: { "example.com/note": "one" },
      });
    },
    acts: [
      {
        act: (world) =>
          sync(world, ["password"], {
            labels: { team: "b" },
            annotations: { "example.com/more": "two" },
          }),
      },
    ],
  },
  {
    name: "deletion of a resource whose target stays",
    setUp: (world) => {
      synced("password")(world);
      sync(world, ["password"], { creationPolicy: "Orphan" });
    },
    acts: [{ act: (world) => world.remove(vaultSecretKind, "db") }],
  },
  {
    name: "a target that is to stay from now on",
    setUp: synced("password"),
    acts: [
      { act: (world) => sync(world, ["password"], { creationPolicy: "Orphan" }) },
      {
        atMs: AFTER_TIMEOUT_MS,
        act: (world) => sync(world, ["password"], { creationPolicy: "Orphan", name: "renamed" }),
      },
    ],
    recordMs: AFTER_TIMEOUT_MS + 10_000,
  },
  {
    name: "a target that becomes immutable, and a new version",
    setUp: synced("password"),
    acts: [
      { act: (world) => sync(world, ["password"], { immutable: true }) },
      { atMs: AFTER_TIMEOUT_MS, act: (world) => world.write("password") },
    ],
    recordMs: AFTER_TIMEOUT_MS + 10_000,
  },
  {
    name: "keys that are merged into a Secret of others, and leave it",
    setUp: (world) => {
      world.write("user", "password");
      connect(world);
      world.edit(SECRETS, "db", (object) => ({ ...object, ...THEIRS }));
    },
    acts: [
      { act: (world) => sync(world, ["user", "password"], { creationPolicy: "Merge" }) },
      {
        atMs: AFTER_TIMEOUT_MS,
        act: (world) => sync(world, ["password"], { creationPolicy: "Merge" }),
      },
    ],
    recordMs: AFTER_TIMEOUT_MS + 10_000,
    losses: ["Secret/db user"],
    mergesKeys: true,
  },
  {
    name: "a target whose keys are merged ones from now on, and a new version",
    setUp: synced("password"),
    acts: [
      { act: (world) => sync(world, ["password"], { creationPolicy: "Merge" }) },
      { atMs: AFTER_TIMEOUT_MS, act: (world) => world.write("password") },
    ],
    recordMs: AFTER_TIMEOUT_MS + 10_000,
  },
  {
    name: "a sync that a user requests",
    setUp: synced("password"),
    acts: [{ act: (world) => sync(world, ["password"], {}, {}, { [FORCE_SYNC_ANNOTATION]: "1" }) }],
  },
  {
    name: "a Secret that its owner hands over",
    setUp: (world) => {
      world.write("password");
      connect(world);
      const metadata = {
        annotations: { [ADOPT_ANNOTATION]: "VaultSecret/db", [CONFIRM_REMOVALS_ANNOTATION]: "1" },
      };
      world.edit(SECRETS, "db", (object) => ({
        ...object,
        ...THEIRS,
        metadata: { ...object.metadata, ...metadata },
      }));
    },
    acts: [{ act: (world) => sync(world, ["password"]) }],
  },
  {
    name: "removal of a missing source on proof",
    setUp: (world) => {
      world.write("user", "password");
      connectOften(world);
      sync(world, ["user", "password"], { whenMissing: "Delete" });
    },
    warmUpMs: 12_000,
    acts: [{ act: (world) => deleteSecrets(world, ["user"]) }],
    recordMs: 25_000,
    losses: ["Secret/db user"],
  },
  {
    name: "removal of the last missing source on proof",
    setUp: (world) => {
      world.write("password");
      connectOften(world);
      sync(world, ["password"], { whenMissing: "Delete" });
    },
    warmUpMs: 12_000,
    acts: [{ act: (world) => deleteSecrets(world, ["password"]) }],
    recordMs: 25_000,
    losses: ["Secret/db"],
  },
  {
    name: "many removals that a user confirms",
    setUp: (world) => {
      world.write(...NAMES);
      connectOften(world);
      sync(world, NAMES, { whenMissing: "Delete" });
    },
    warmUpMs: 12_000,
    acts: [
      { act: (world) => deleteSecrets(world, NAMES.slice(1)) },
      { atMs: 20_000, act: (world) => confirmRemovals(world) },
    ],
    recordMs: 35_000,
    losses: NAMES.slice(1).map((name) => `Secret/db ${name}`),
  },
];

testScenarios(policies);
