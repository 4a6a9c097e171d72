import { expect, test } from "vitest";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

// Found by the simulation: the process that had trusted the status for its digest had no other.
test.each(["Owner", "Merge"])(
  "a status emptied after a restart shows the digest of the target again: %s",
  async (creationPolicy) => {
    await using scene = await SimulatedWorld.shop();
    const metadata = { namespace: "shop", name: "db" };
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: "Opaque",
      metadata,
      data: { other: "eA==" },
    };
    scene.vault().lists({ name: "db" });
    if (creationPolicy === "Merge") scene.server.create(SECRETS, secret);
    scene.follow({ password: "db" }, { target: { creationPolicy } });
    await scene.settle();
    const { target } = scene.status();
    expect(target?.digest).toMatch(/./u);
    await scene.replace();
    scene.server.replaceStatus(vaultSecretKind, scene.resource().metadata, {});
    await scene.settle();
    expect(scene.status().target).toEqual(target);
  },
);
