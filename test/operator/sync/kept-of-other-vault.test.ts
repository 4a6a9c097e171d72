import { expect, test } from "vitest";
import { HOLD_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const freeze = (scene: SimulatedWorld): void => scene.freeze();
const hold = (scene: SimulatedWorld): void => scene.annotate({ [HOLD_ANNOTATION]: "*" });

/** Changes an annotation of the target, as a tool does. */
function touch(scene: SimulatedWorld): void {
  const metadata = { annotations: { "vaultsync.dev/content": "other" } };
  scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata });
}

// A repair had nothing of the former vault, and followed the present one.
test.each([
  { gate: "a freeze", close: freeze },
  { gate: "a hold", close: hold },
])("$gate keeps the bytes of a former vault in an edited target", async ({ close }) => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  close(scene);
  await scene.settle();
  scene.connect("vault", { url: "https://other.example.com" });
  scene.vault("other").lists({ name: "db", version: 2 });
  await scene.settle();
  touch(scene);
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, VersionNotFound");
  await scene.replace();
  expect(scene.outcome()).toBe("password=vault db@1, VersionNotFound");
});
