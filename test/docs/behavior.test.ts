import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { ClusterControllers } from "../support/kube/in-memory/cluster-controllers.ts";
import { ACCOUNT, OperatorScene } from "../support/operator/operator-scene.ts";
import type { InMemoryVault } from "../support/vault/in-memory/in-memory-vault.ts";

/** Every cell of the tables in docs/behavior.md: what happens to a target under a policy, on a virtual clock. */
const MINUTE = 60_000;
const page = readFileSync("docs/behavior.md", "utf8");
const namespace = "shop";
const app = { namespace, name: "app" };

/** Everything that an event may change. */
interface Stage {
  readonly scene: OperatorScene;
  readonly vault: InMemoryVault;
}

const protect = (vault: InMemoryVault, name: string, more: object = {}): object =>
  vault.act(ACCOUNT, "protect", { email: ACCOUNT, key_name: name, key_value: `${name}-value`, ...more });
const encoded = (text: string): string => Buffer.from(text).toString("base64");
const remove = ({ vault }: Stage, ...names: readonly string[]): void => {
  for (const key_name of names) vault.act(ACCOUNT, "delete", { email: ACCOUNT, key_name });
};
const expire = ({ vault }: Stage, ...names: readonly string[]): void => {
  for (const name of names) protect(vault, name, { delete_time: 2 });
};
const patchSpec = ({ scene }: Stage, spec: object): void => {
  const { resourceVersion } = scene.server.get(vaultSecretKind, app).metadata;
  scene.server.patch(vaultSecretKind, { ...app, resourceVersion }, { spec });
};

/** The events, by the first cell of their rows. */
const events: Readonly<Record<string, (stage: Stage) => void | Promise<void>>> = {
  "a source has a new version": ({ vault }) => void protect(vault, "a", { key_value: "newer" }),
  "the vault does not respond": ({ scene }) => scene.beginVaultOutage(namespace),
  "the vault rejects the password": ({ vault }) => {
    vault.setPassword(ACCOUNT, "another");
    vault.revoke(ACCOUNT, { refresh: true });
  },
  "a user edits a key of the target": ({ scene }) => void scene.server.patch(SECRETS, app, { data: { a: encoded("edited") } }),
  "a user adds a key to the target": ({ scene }) => void scene.server.patch(SECRETS, app, { data: { more: encoded("more") } }),
  "a user deletes the target": ({ scene }) => scene.server.delete(SECRETS, app),
  "a user deletes the resource": ({ scene }) => scene.server.delete(vaultSecretKind, app),
  "a user deletes the connection": ({ scene }) => scene.server.delete(vaultConnectionKind, { namespace, name: "vault" }),
  "the spec names another target": (stage) => patchSpec(stage, { target: { name: "other" } }),
  "the spec omits a key": (stage) => patchSpec(stage, { data: [dataOf("b")] }),
  "the operator restarts": ({ scene }) => scene.restart(),
  "one source is removed at its deadline": (stage) => expire(stage, "a"),
  "the last source is removed at its deadline": (stage) => expire(stage, "a", "b"),
  "one source is deleted, or no longer shared": (stage) => remove(stage, "a"),
  "the last source is deleted, or no longer shared": (stage) => remove(stage, "a", "b"),
};

const dataOf = (name: string) => ({ secretKey: name, remoteRef: { key: name } });

/** The policies, by the heads of their columns: fields of the spec, and of its target. */
const policies: Readonly<Record<string, { readonly spec?: object; readonly target?: object }>> = {
  "`creationPolicy: Owner`": {},
  "`creationPolicy: Orphan`": { target: { creationPolicy: "Orphan" } },
  "`creationPolicy: Merge`": { target: { creationPolicy: "Merge" } },
  "the defaults": {},
  "`whenRemoved: Retain`": { target: { whenRemoved: "Retain" } },
  "`whenMissing: Delete`": { target: { whenMissing: "Delete" } },
  "both `Delete`, with `Merge`": { target: { whenMissing: "Delete", creationPolicy: "Merge" } },
  "`suspend: true`": { spec: { suspend: true } },
  "`version: 1`": { spec: { data: ["a", "b"].map((key) => ({ secretKey: key, remoteRef: { key, version: 1 } })) } },
  "`immutable: true`": { target: { immutable: true } },
};

/** Starts an operator that has synced a target with the keys `a` and `b` under a policy. */
async function synced(scene: OperatorScene, { spec = {}, target = {} }: { spec?: object; target?: object }): Promise<Stage> {
  const vault = scene.addFileVault(namespace, [], {});
  for (const name of ["a", "b"]) protect(vault, name);
  if ("creationPolicy" in target && target.creationPolicy === "Merge")
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: app,
      type: "Opaque",
      data: { own: encoded("own") },
    });
  const { suspend, ...first } = {
    suspend: false,
    connectionRef: { name: "vault" },
    data: ["a", "b"].map(dataOf),
    target,
    ...spec,
  };
  scene.server.create(vaultSecretKind, { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", metadata: app, spec: first });
  scene.start();
  await scene.clock.advance(MINUTE);
  if (suspend) patchSpec({ scene, vault }, { suspend });
  await scene.clock.advance(MINUTE);
  return { scene, vault };
}

const dataIn = (object: KubeObject | undefined): Record<string, string> => ({ ...(object?.["data"] as Record<string, string>) });

/** Returns what became of the target, in the words of the page. */
function outcome(before: KubeObject | undefined, after: KubeObject | undefined): string {
  if (after === undefined) return before === undefined ? "none" : "deleted";
  const [old, now] = [dataIn(before), dataIn(after)];
  const removed = Object.keys(old).filter((key) => !(key in now));
  const isSame = (key: string): boolean => old[key] === now[key];
  if (removed.length > 0) return removed.length === 1 ? "key removed" : "keys removed";
  if (Object.keys(now).some((key) => !(key in old))) return "addition kept";
  if (!Object.keys(old).every(isSame)) return now["a"] === encoded("edited") ? "edit kept" : "new content";
  return before?.metadata.uid === after.metadata.uid ? "unchanged" : "created again";
}

function reasonOf({ scene }: Stage): string {
  const object = scene.server.find(vaultSecretKind, app);
  if (object === undefined) return "";
  return scene.condition("Ready", namespace, "app")?.reason ?? "none";
}

/** Runs one cell. */
async function cell(event: string, policy: string): Promise<string> {
  await using scene = new OperatorScene();
  const cluster = new ClusterControllers(scene.server);
  using _ = scene.server.onCommit(() => cluster.wake());
  const [happens, under] = [events[event], policies[policy]];
  if (happens === undefined || under === undefined) throw new Error(`unknown row or column: ${event}, ${policy}`);
  const stage = await synced(scene, under);
  const before = scene.server.find(SECRETS, app);
  await happens(stage);
  await scene.clock.advance(12 * MINUTE);
  const reason = reasonOf(stage);
  const other = scene.server.find(SECRETS, { namespace, name: "other" }) === undefined ? "" : ", the other one created";
  return `${outcome(before, scene.server.find(SECRETS, app))}${other}${reason === "" ? "" : `; ${reason}`}`;
}

/** Returns the rows of every table of the page whose first column is headed "Event". */
function tables(): { readonly policies: string[]; readonly rows: string[][] }[] {
  return page.split(/\n\n/u).flatMap((part) => {
    const rows = part
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((text) => text.trim()),
      );
    const [head = [], , ...body] = rows;
    return head[0] === "Event" ? [{ policies: head.slice(1), rows: body }] : [];
  });
}

for (const { policies: columns, rows } of tables()) {
  describe(`under ${columns.join(", ")}`, () => {
    test.each(rows)("%s", async (event, ...cells) => {
      const run: string[] = [];
      for (const column of columns) run.push(await cell(event ?? "", column));
      expect(run).toEqual(cells.map((text) => text.replaceAll("`", "")));
    });
  });
}

test("every event and policy of this test is in a table", () => {
  expect(new Set(tables().flatMap(({ rows }) => rows.map(([event]) => event)))).toEqual(new Set(Object.keys(events)));
  expect(new Set(tables().flatMap(({ policies: columns }) => columns))).toEqual(new Set(Object.keys(policies)));
});
