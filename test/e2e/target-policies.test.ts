import { afterAll, beforeAll, expect, test } from "vitest";
import { World } from "../lab/real/world.ts";
import { bytesOf, condition, type ObservedObject, vaultSecret } from "../lab/real/resources.ts";

/** The policies in `spec.target`, on a real API server. */
let world: World;
let value: string;
beforeAll(async () => {
  world = await World.create();
  value = world.canaries.text("value");
  await world.protect("db", value);
  await world.startOperator();
});
afterAll(() => world[Symbol.asyncDispose]());

const kubectl = (...args: string[]): Promise<string> =>
  world.plane.kubectlOutput(args, { namespace: world.namespace });

const secret = (
  name: string,
  data: Readonly<Record<string, string>>,
  metadata: object = {},
): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, ...metadata },
  stringData: data,
});
const labelsOf = ({ metadata }: ObservedObject): unknown => metadata["labels"];
const valueOf = (object: ObservedObject, key = "password"): string | undefined =>
  bytesOf(object, key)?.toString();

test("Orphan: the Secret stays when its resource is deleted, and Owner removes it", async () => {
  await world.apply(
    vaultSecret("orphan", { password: "db" }, { creationPolicy: "Orphan" }),
    vaultSecret("owned", { password: "db" }, { creationPolicy: "Orphan" }),
  );
  await world.ready("VaultSecret", "orphan");
  await world.ready("VaultSecret", "owned");
  await world.apply(vaultSecret("owned", { password: "db" }, { creationPolicy: "Owner" }));
  await world.until("Secret", "owned", ({ metadata }) => metadata["ownerReferences"] !== undefined);
  await kubectl("delete", "vaultsecret", "orphan", "owned");
  await world.gone("Secret", "owned", 60_000);
  expect(valueOf(await world.until("Secret", "orphan", () => true))).toBe(value);
});

test("Merge: keys are added, followed and removed in an object of others, which is never created", async () => {
  const merge = { name: "shared", creationPolicy: "Merge" };
  await world.apply(
    vaultSecret("first", { password: "db" }, merge),
    vaultSecret("second", { other: "db", more: "db" }, merge),
  );
  await world.untilReason("VaultSecret", "first", "TargetMissing");
  expect(await world.get("Secret", "shared")).toBeUndefined();
  await world.apply(secret("shared", { own: "theirs" }));
  await world.ready("VaultSecret", "first");
  await world.ready("VaultSecret", "second");
  await world.apply(vaultSecret("second", { other: "db" }, merge));
  const merged = await world.until(
    "Secret",
    "shared",
    (object) => object.data["more"] === undefined,
  );
  expect(valueOf(merged, "own")).toBe("theirs");
  expect(valueOf(merged)).toEqual(value);
  expect(valueOf(merged, "other")).toEqual(value);
  await world.apply(vaultSecret("third", { own: "db" }, merge));
  const third = await world.untilReason("VaultSecret", "third", "TargetConflict");
  expect(condition(third, "Ready")?.message).toContain("own (kubectl-client-side-apply)");
});

test("labels and annotations are repaired, and removed when the spec drops them", async () => {
  const described = { labels: { team: "shop" }, annotations: { "example.com/note": "by spec" } };
  await world.apply(vaultSecret("labels", { password: "db" }, described));
  await world.ready("VaultSecret", "labels");
  await kubectl("label", "--overwrite", "secret", "labels", "team=other", "foreign=x");
  const own = { "app.kubernetes.io/managed-by": "vaultsync" };
  await world.until("Secret", "labels", (object) => {
    return (
      JSON.stringify(labelsOf(object)) === JSON.stringify({ ...own, foreign: "x", team: "shop" })
    );
  });
  await world.apply(vaultSecret("labels", { password: "db" }));
  const dropped = await world.until(
    "Secret",
    "labels",
    ({ metadata }) => !("example.com/note" in metadata.annotations),
  );
  expect(labelsOf(dropped)).toEqual({ ...own, foreign: "x" });
});

test("immutable: a new version is reported, and a deleted Secret is recreated with it", async () => {
  await world.protect("fixed", world.canaries.text("one"));
  await world.apply(vaultSecret("fixed", { password: "fixed" }, { immutable: true }));
  await world.ready("VaultSecret", "fixed");
  const two = world.canaries.text("two");
  await world.protect("fixed", two);
  await world.until(
    "VaultSecret",
    "fixed",
    (one) => condition(one, "Stalled")?.reason === "TargetImmutable",
  );
  await kubectl("delete", "secret", "fixed");
  const recreated = await world.until("Secret", "fixed", (object) => valueOf(object) === two);
  expect(recreated["immutable"]).toBe(true);
});

test("a status that a user overwrites is repaired", async () => {
  await world.apply(vaultSecret("edited", { password: "db" }));
  await world.ready("VaultSecret", "edited");
  const ready = {
    type: "Ready",
    status: "False",
    reason: "InvalidSpec",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const lie = JSON.stringify({ status: { conditions: [ready] } });
  for (const resource of ["vaultsecret/edited", "vaultconnection/vault"]) {
    await kubectl("patch", resource, "--subresource=status", "--type=merge", "-p", lie);
  }
  await world.ready("VaultSecret", "edited");
  await world.ready("VaultConnection", "vault");
});

test("an object of others is adopted when its owner annotates it", async () => {
  await world.apply(secret("adopted", { password: "theirs" }));
  await world.apply(vaultSecret("adopted", { password: "db" }));
  const conflict = await world.untilReason("VaultSecret", "adopted", "TargetConflict");
  const [annotation = ""] =
    /vaultsync\.dev\/adopt: \S+/.exec(condition(conflict, "Ready")?.message ?? "") ?? [];
  await kubectl("annotate", "secret", "adopted", annotation.replace(": ", "="));
  await kubectl("annotate", "vaultsecret", "adopted", "vaultsync.dev/force-sync=1");
  const adopted = await world.until(
    "Secret",
    "adopted",
    (object) => valueOf(object) === value,
    60_000,
  );
  expect(adopted.metadata.annotations).not.toHaveProperty(["vaultsync.dev/adopt"]);
});
