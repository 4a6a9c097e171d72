import { expect, test } from "vitest";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";

const VALUES = { username: "ann", password: "secret", more: "1" };
const keys = data("username", "password", "more");
const BASIC = { type: "kubernetes.io/basic-auth" };

// Found by a review: the write of the rest was rejected as a whole, every time.
test("a key at its deadline leaves a target whose type the spec has changed", async () => {
  await using scene = await synced(VALUES, { data: keys });
  scene.follow({}, { data: keys, target: BASIC });
  await scene.settle();
  const uid = scene.target()?.metadata.uid;
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  expect(scene.target()?.metadata.uid).toBe(uid);
  await scene.replace();
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
});

test("a key at its deadline leaves with its target if the former type requires it", async () => {
  await using scene = await synced(VALUES, { data: keys, target: BASIC });
  const target = { type: "Opaque" };
  scene.follow({}, { data: keys, target });
  await scene.settle();
  await remove(scene, VALUES, "username", "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("more=1, SourceRemoved");
  expect(scene.target()?.type).toBe("Opaque");
});

test("a variable at its deadline leaves with a rendered target whose type has changed", async () => {
  const template = { data: { url: "{{ username }}:{{ password | default: 'none' }}" } };
  const spec = { data: data("username", "password"), target: { template } };
  await using scene = await synced(VALUES, spec);
  scene.follow(
    {},
    {
      ...spec,
      target: {
        template: { data: { ...template.data, password: "{{ password | default: 'none' }}" } },
        ...BASIC,
      },
    },
  );
  await scene.settle();
  expect(scene.outcome()).toBe("url=ann:secret, TargetImmutable");
  await remove(scene, VALUES, "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=none url=ann:none, SourceRemoved");
});

test("an immutable target whose type the spec has changed stays as a whole", async () => {
  const immutable = { immutable: true };
  await using scene = await synced(VALUES, { data: keys, target: immutable });
  scene.follow({}, { data: keys, target: { ...immutable, ...BASIC } });
  await scene.settle();
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 password=secret username=ann, TargetImmutable");
});
