import { describe, expect, test } from "vitest";
import { data, synced } from "../../lab/kube/removed-sources.ts";
import {
  forbidden,
  invalid,
  type StatusError,
} from "../../lab/simulated/api-server/status-error.ts";
import { SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const VALUES = { username: "ann", password: "secret" };
const keys = data("username", "password");
const DENIAL = `secrets "db" is forbidden: ValidatingAdmissionPolicy 'no-bob' with binding 'b' denied request: no`;

/** Rejects each write of a Secret that has this text in a value. */
function reject(scene: SimulatedWorld, text: string, rejection: () => StatusError): void {
  scene.server.webhooks.push((object) => {
    const values = object.kind === "Secret" ? Object.values(valuesOf(object) ?? {}) : [];
    if (values.some((value) => value.includes(text))) throw rejection();
    return object;
  });
}

/** The username gets a second version, and the password reaches its `delete_time`. */
async function removePassword(scene: SimulatedWorld): Promise<void> {
  const username = { name: "username", version: 2 };
  scene.vault().expose = (name) => ({ value: name === "username" ? "bob" : "secret" });
  scene.vault().lists(username, { name: "password", deleteAt: scene.clock.now() + 10_000 });
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toMatch(/^Target(Forbidden|Rejected)$/);
  await scene.settle(20_000);
  scene.vault().lists(username);
  await scene.settle();
}

const REJECTIONS: readonly (readonly [string, () => StatusError, string])[] = [
  ["a policy", () => forbidden(DENIAL), "TargetForbidden"],
  ["a webhook", () => invalid(), "TargetRejected"],
];

// Found by a review: the removal was part of the write that was rejected, every time.
describe.each(REJECTIONS)(
  "while %s rejects the content of another source:",
  (_, rejection, reason) => {
    test("a key at its deadline leaves the target", async () => {
      await using scene = await synced(VALUES, { data: keys });
      reject(scene, "bob", rejection);
      const uid = scene.target()?.metadata.uid;
      await removePassword(scene);
      expect(scene.outcome()).toBe(`username=ann, ${reason}`);
      expect(scene.target()?.metadata.uid).toBe(uid);
      await scene.replace();
      expect(scene.outcome()).toBe(`username=ann, ${reason}`);
      scene.server.webhooks.pop();
      await scene.settle(60_000);
      expect(scene.outcome()).toBe("username=bob, SourceRemoved");
    });

    test("a variable at its deadline leaves with the rendered target after five minutes", async () => {
      const template = { data: { url: "{{ username }}:{{ password | default: 'none' }}" } };
      await using scene = await synced(VALUES, { data: keys, target: { template } });
      reject(scene, "bob", rejection);
      await removePassword(scene);
      expect(scene.outcome()).toBe(`url=ann:secret, ${reason}`);
      await scene.settle(6 * 60_000);
      expect(scene.outcome()).toBe(`absent, ${reason}`);
      scene.server.webhooks.pop();
      await scene.settle(60_000);
      expect(scene.outcome()).toBe("url=bob:none, SourceRemoved");
    });

    test("an immutable target stays as a whole", async () => {
      await using scene = await synced(VALUES, { data: keys, target: { immutable: true } });
      reject(scene, "bob", rejection);
      scene
        .vault()
        .lists({ name: "username" }, { name: "password", deleteAt: scene.clock.now() + 10_000 });
      await scene.settle(20_000);
      scene.vault().lists({ name: "username" });
      await scene.settle();
      expect(scene.outcome()).toBe("password=secret username=ann, TargetImmutable");
    });

    test("a merged key at its deadline leaves the object", async () => {
      await using scene = await SimulatedWorld.shop();
      scene.server.create(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { namespace: SHOP, name: "db" },
        data: { own: "MQ==" },
      });
      scene.vault().serves(VALUES);
      scene.follow({}, { data: keys, target: { creationPolicy: "Merge" } });
      await scene.settle();
      reject(scene, "bob", rejection);
      await removePassword(scene);
      expect(scene.outcome()).toBe(`own=1 username=ann, ${reason}`);
    });
  },
);

test("a key at its deadline stays if a policy denies every write of the target", async () => {
  await using scene = await synced(VALUES, { data: keys });
  reject(scene, "", () => forbidden(DENIAL));
  await removePassword(scene);
  expect(scene.outcome()).toBe("password=secret username=ann, TargetForbidden");
  expect(scene.status().items).toHaveLength(2);
});
