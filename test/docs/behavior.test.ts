import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { certificate } from "../lab/certificates.ts";
import { ClusterControllers } from "../lab/simulated/api-server/cluster-controllers.ts";
import { ACCOUNT, OTHER, PASSWORD, type SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";

/**
 * Every cell of the tables in docs/resources.md#behavior: what happens to a target under a policy,
 * on a virtual clock.
 */
const MINUTE = 60_000;
const page = readFileSync("docs/resources.md", "utf8");
const namespace = "shop";
const app = { namespace, name: "app" };

/** Everything that an event may change. */
interface Given {
  readonly scene: SimulatedWorld;
  readonly vault: SimulatedVault;
  readonly values: Values;
}

/** The metadata of secrets unless a test says otherwise. */
const dev = { environment_type: "dev" };

/** The values of secrets that differ from the default of {@link protect}. */
type Values = Readonly<Record<string, string>>;
const valueOf = (values: Values, name: string): object =>
  name in values ? { key_value: values[name] } : {};

const protect = (vault: SimulatedVault, name: string, more: object = {}): object =>
  vault.act(ACCOUNT, "protect", {
    email: ACCOUNT,
    key_name: name,
    key_value: `${name}-value`,
    ...more,
  });
const encoded = (text: string): string => Buffer.from(text).toString("base64");
const remove = ({ vault }: Given, ...names: readonly string[]): void => {
  for (const key_name of names) vault.act(ACCOUNT, "delete", { email: ACCOUNT, key_name });
};
const expire = ({ vault, values }: Given, ...names: readonly string[]): void => {
  for (const name of names) protect(vault, name, { ...valueOf(values, name), delete_time: 2 });
};
const reclassify = ({ vault }: Given, ...names: readonly string[]): void => {
  for (const name of names) protect(vault, name, { metadata: { environment_type: "prod" } });
};
/** An account that the connection does not trust shares a secret of the same name and metadata. */
const shareAnother = ({ vault }: Given): void => {
  vault.setPassword(OTHER, PASSWORD);
  vault.act(OTHER, "protect", { email: OTHER, key_name: "a", key_value: "strange", metadata: dev });
  const share = { key_name: "a", permission: "R", usr_id_from: OTHER, usr_id_to: ACCOUNT };
  vault.act(OTHER, "share", share);
};
/** Creates another Secret of a user. */
const withOther = (given: Given): Given => {
  const metadata = { namespace, name: "other" };
  given.scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: { own: encoded("own") },
  });
  return given;
};
const patchSpec = (given: Given, spec: object): Given => {
  const { resourceVersion } = given.scene.server.get(vaultSecretKind, app).metadata;
  given.scene.server.patch(vaultSecretKind, { ...app, resourceVersion }, { spec });
  return given;
};

/** The events, by the first cell of their rows. */
const events: Readonly<Record<string, (given: Given) => unknown>> = {
  ...Object.fromEntries(
    [
      "one source is removed at its deadline",
      "one source is deleted, or no longer shared",
      "one source no longer has the metadata",
    ].map((event) => [
      `${event}, while a stranger shares one of its name`,
      (given: Given) => {
        shareAnother(given);
        return events[event]?.(given);
      },
    ]),
  ),
  "a source has a new version": ({ vault }) => void protect(vault, "a", { key_value: "newer" }),
  "a source has a new version, then a user deletes the target": async (given) => {
    await events["a source has a new version"]?.(given);
    await given.scene.clock.advance(MINUTE);
    given.scene.server.delete(SECRETS, app);
  },
  "the vault does not respond": ({ vault }) => vault.setDown(true),
  "the vault rejects the password": ({ vault }) => {
    vault.setPassword(ACCOUNT, "another");
    vault.revoke(ACCOUNT, { refresh: true });
  },
  "a user edits a key of the target": ({ scene }) =>
    void scene.server.patch(SECRETS, app, { data: { a: encoded("edited") } }),
  "a user adds a key to the target": ({ scene }) =>
    void scene.server.patch(SECRETS, app, { data: { more: encoded("more") } }),
  "a user deletes the target": ({ scene }) => scene.server.delete(SECRETS, app),
  "a user deletes the resource": ({ scene }) => scene.server.delete(vaultSecretKind, app),
  "a user deletes the connection": ({ scene }) =>
    scene.server.delete(vaultConnectionKind, { namespace, name: "vault" }),
  "the spec names another target": (given) => patchSpec(given, { target: { name: "other" } }),
  "the spec omits a key": (given) => patchSpec(given, { data: [dataOf("b")] }),
  ...Object.fromEntries(
    ["Owner", "Orphan", "Merge"].flatMap((creationPolicy) => {
      const becomes = `the policy becomes \`${creationPolicy}\``;
      const change = (given: Given): Given => patchSpec(given, { target: { creationPolicy } });
      const rename = (given: Given): Given =>
        patchSpec(given, { target: { creationPolicy, name: "other" } });
      const then = (event: string) => async (given: Given) => {
        change(given);
        await given.scene.clock.advance(MINUTE);
        await events[event]?.(given);
      };
      const isMerge = creationPolicy === "Merge";
      return [
        [becomes, change],
        [`${becomes}, then a user deletes the resource`, then("a user deletes the resource")],
        ...(isMerge
          ? [
              [`${becomes}, then a source has a new version`, then("a source has a new version")],
              [`${becomes}, then the spec omits a key`, then("the spec omits a key")],
              [
                `${becomes}, and the spec names an object of a user`,
                (given: Given) => rename(withOther(given)),
              ],
              [`${becomes}, and the spec names an object that does not exist`, rename],
            ]
          : [[`${becomes}, and the spec names another target`, rename]]),
      ];
    }),
  ),
  "the operator restarts": ({ scene }) => scene.restart(),
  "one source is removed at its deadline": (given) => expire(given, "a"),
  "the last source is removed at its deadline": (given) => expire(given, "a", "b"),
  "one source is deleted, or no longer shared": (given) => remove(given, "a"),
  "the last source is deleted, or no longer shared": (given) => remove(given, "a", "b"),
  "one source is removed at its deadline while the other one is missing": (given) => {
    remove(given, "b");
    expire(given, "a");
  },
  "one source is removed at its deadline, with `whenRemoved: Retain`": (given) =>
    expire(patchSpec(given, { target: { whenRemoved: "Retain" } }), "a"),
  "one source is deleted, or no longer shared, with `whenMissing: Delete`": (given) =>
    remove(patchSpec(given, { target: { whenMissing: "Delete" } }), "a"),
  "one source no longer has the metadata": (given) => reclassify(given, "a"),
  "the last source no longer has the metadata": (given) => reclassify(given, "a", "b"),
};

const { cert: b, keyPem: a } = certificate("shop", { hosts: ["shop"] });
const extracted: Values = { a: "a-value", b: '{"host": "h", "port": "1"}' };

const dataOf = (name: string) => ({ secretKey: name, remoteRef: { key: name } });
const found = { data: undefined, dataFrom: [{ find: { metadata: { environment_type: "dev" } } }] };

interface Policy {
  readonly spec?: object;
  readonly target?: object;
  readonly values?: Values;
}

/**
 * The policies and shapes, by the heads of their columns: fields of the spec, and of its target.
 */
const policies: Readonly<Record<string, Policy>> = {
  "`creationPolicy: Owner`": {},
  "`creationPolicy: Orphan`": { target: { creationPolicy: "Orphan" } },
  "`creationPolicy: Merge`": { target: { creationPolicy: "Merge" } },
  "the defaults": {},
  "`whenRemoved: Retain`": { target: { whenRemoved: "Retain" } },
  "`whenMissing: Delete`": { target: { whenMissing: "Delete" } },
  "both `Delete`, with `Merge`": { target: { whenMissing: "Delete", creationPolicy: "Merge" } },
  "`suspend: true`": { spec: { suspend: true } },
  "`version: 1`": {
    spec: { data: ["a", "b"].map((key) => ({ secretKey: key, remoteRef: { key, version: 1 } })) },
  },
  "`immutable: true`": { target: { immutable: true } },
  "`minLength: 7` in `validate`": {
    spec: { data: ["a", "b"].map((name) => ({ ...dataOf(name), validate: { minLength: 7 } })) },
  },
  "a template of both": { target: { template: { data: { url: "{{ a }}:{{ b }}" } } } },
  "a template with `default`": {
    target: { template: { data: { url: '{{ a | default: "none" }}:{{ b | default: "none" }}' } } },
  },
  "a key and an `extract`": {
    spec: { data: [dataOf("a")], dataFrom: [{ extract: { key: "b" } }] },
    values: extracted,
  },
  "`type: kubernetes.io/tls`": {
    spec: {
      data: ["tls.key", "tls.crt"].map((secretKey, at) => ({
        secretKey,
        remoteRef: { key: "ab"[at] },
      })),
    },
    target: { type: "kubernetes.io/tls" },
    values: { a, b },
  },
  "`find` by metadata": { spec: found },
  "`find` by metadata, `whenMissing: Delete`": { spec: found, target: { whenMissing: "Delete" } },
};

/** Starts an operator that has synced a target with the keys `a` and `b` under a policy. */
async function synced(
  scene: SimulatedWorld,
  { spec = {}, target = {}, values = {} }: Policy,
): Promise<Given> {
  const vault = scene.addFileVault(namespace, [], {});
  for (const name of ["a", "b"]) protect(vault, name, valueOf(values, name));
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
  scene.server.create(vaultSecretKind, {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: app,
    spec: first,
  });
  scene.start();
  await scene.clock.advance(MINUTE);
  if (suspend) patchSpec({ scene, vault, values }, { suspend });
  await scene.clock.advance(MINUTE);
  return { scene, vault, values };
}

const dataIn = (object: KubeObject | undefined): Record<string, string> => ({
  ...(object?.["data"] as Record<string, string>),
});

/** Returns what became of the target, in the words of the page. */
function outcome(before: KubeObject | undefined, after: KubeObject | undefined): string {
  if (after === undefined) return before === undefined ? "none" : "deleted";
  const [old, now] = [dataIn(before), dataIn(after)];
  const removed = Object.keys(old).filter((key) => !(key in now));
  const isSame = (key: string): boolean => old[key] === now[key];
  if (removed.length > 0) return removed.length === 1 ? "key removed" : "keys removed";
  if (Object.keys(now).some((key) => !(key in old))) return "addition kept";
  if (!Object.keys(old).every(isSame))
    return now["a"] === encoded("edited") ? "edit kept" : "new content";
  return before?.metadata.uid === after.metadata.uid ? "unchanged" : "created again";
}

function reasonOf({ scene }: Given): string {
  const object = scene.server.find(vaultSecretKind, app);
  if (object === undefined) return "";
  return scene.condition("Ready", "app", namespace)?.reason ?? "none";
}

/** Returns what became of a Secret with another name. */
function otherOutcome({ server }: SimulatedWorld): string {
  const other = server.find(SECRETS, { namespace, name: "other" });
  if (other === undefined) return "";
  const keys = Object.keys(dataIn(other));
  return keys.includes("own") && keys.includes("a")
    ? ", keys added to the other one"
    : ", the other one created";
}

/** Runs one cell. */
async function cell(event: string, policy: string): Promise<string> {
  await using scene = new SimulatedWorld();
  const cluster = new ClusterControllers(scene.server);
  using _ = scene.server.onCommit(() => cluster.wake());
  const [happens, under] = [events[event], policies[policy]];
  if (happens === undefined || under === undefined)
    throw new Error(`unknown row or column: ${event}, ${policy}`);
  const given = await synced(scene, under);
  const before = scene.server.find(SECRETS, app);
  await happens(given);
  await scene.clock.advance(12 * MINUTE);
  const reason = reasonOf(given);
  return `${outcome(before, scene.server.find(SECRETS, app))}${otherOutcome(scene)}${reason === "" ? "" : `; ${reason}`}`;
}

interface HandedOver {
  /** The object has a key that the spec does not have. */
  readonly hasMore?: true;
  readonly confirmed?: string;
  readonly policy?: "Merge";
  readonly before?: (given: Given) => void;
  readonly after?: (given: Given) => void;
}
const MORE = "it has a key that the spec does not have";
const objects: Readonly<Record<string, HandedOver>> = {
  "it has no other key": {},
  [MORE]: { hasMore: true },
  [`${MORE}, and the user confirms one removal`]: { hasMore: true, confirmed: "1" },
  [`${MORE}, and the user confirms two removals`]: { hasMore: true, confirmed: "2" },
  [`${MORE}, and the user removes it later`]: {
    hasMore: true,
    after: ({ scene }) => void scene.server.patch(SECRETS, app, { data: { more: null } }),
  },
  "it has no other key, and the vault has removed all sources before": {
    before: (given) => expire(given, "a"),
  },
  [`${MORE}, and the policy is Merge`]: { hasMore: true, policy: "Merge" },
};

/** Returns what becomes of an object of a user that is handed over. */
async function adoption({ hasMore, confirmed, policy, ...steps }: HandedOver): Promise<string> {
  await using scene = new SimulatedWorld();
  const given = { scene, vault: scene.addFileVault(namespace, [], {}), values: {} };
  protect(given.vault, "a");
  const data = { a: encoded("theirs"), ...(hasMore && { more: encoded("more") }) };
  const object = { apiVersion: "v1", kind: "Secret", metadata: app, data };
  const secret = scene.server.create(SECRETS, object);
  const target = policy && { target: { creationPolicy: policy } };
  const spec = { connectionRef: { name: "vault" }, data: [dataOf("a")], ...target };
  scene.server.create(vaultSecretKind, {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: app,
    spec,
  });
  scene.start();
  await scene.clock.advance(MINUTE);
  steps.before?.(given);
  await scene.clock.advance(12 * MINUTE);
  const confirm = confirmed === undefined ? {} : { "vaultsync.dev/confirm-removals": confirmed };
  scene.server.patch(SECRETS, app, {
    metadata: { annotations: { "vaultsync.dev/adopt": "VaultSecret/app", ...confirm } },
  });
  await scene.clock.advance(MINUTE);
  steps.after?.(given);
  await scene.clock.advance(MINUTE);
  return `${outcome(secret, scene.server.find(SECRETS, app))}; ${reasonOf(given)}`;
}

/** Returns the rows of every table of the page whose first column is headed "Event". */
function tables(): { readonly policies: string[]; readonly rows: string[][] }[] {
  return tablesOf("Event");
}

function tablesOf(heading: string): { readonly policies: string[]; readonly rows: string[][] }[] {
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
    return head[0] === heading ? [{ policies: head.slice(1), rows: body }] : [];
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

describe("an object that is handed over", () => {
  const rows = tablesOf("Object").flatMap((table) => table.rows);
  test.each(rows)("%s", async (object = "", expected = "") => {
    expect(await adoption(objects[object] ?? {})).toBe(expected.replaceAll("`", ""));
  });
  test("is in the table in each of its forms", () => {
    expect(rows.map(([object]) => object)).toEqual(Object.keys(objects));
  });
});

test("every event and policy of this test is in a table", () => {
  expect(new Set(tables().flatMap(({ rows }) => rows.map(([event]) => event)))).toEqual(
    new Set(Object.keys(events)),
  );
  expect(new Set(tables().flatMap(({ policies: columns }) => columns))).toEqual(
    new Set(Object.keys(policies)),
  );
});
