import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { readStatus } from "../../../src/operator/sync/sync-status.ts";

const target = { namespace: "shop", name: "db" };
const removeLabel = (scene: SimulatedWorld): void => {
  scene.server.patch(SECRETS, target, { metadata: { labels: { [MANAGED_BY_LABEL]: null } } });
};

/** Returns all messages that the condition Ready of `db` has from now on. */
function messagesOf(scene: SimulatedWorld): string[] {
  const messages: string[] = [];
  scene.server.onCommit(({ resource, after }) => {
    if (resource.kind === "VaultSecret" && after?.metadata.name === "db")
      messages.push(
        readStatus("VaultSecret", after["status"]).conditions?.find(({ type }) => type === "Ready")
          ?.message ?? "",
      );
  });
  return messages;
}

/** Starts an operator whose source `db` is gone after its target was written. */
async function missing(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.vault().lists();
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, SourceMissing");
  return scene;
}

describe("a target whose label a tool removes while its source is missing", () => {
  test("gets it back, and is never reported as not created", async () => {
    await using scene = await missing();
    const messages = messagesOf(scene);
    removeLabel(scene);
    await scene.settle(60_000);
    expect(messages.filter((message) => !message.includes("existing content is kept"))).toEqual([]);
    expect(scene.target()?.metadata.labels).toHaveProperty([MANAGED_BY_LABEL]);
  });

  test("is found after a restart, also next to a rival that names it", async () => {
    await using scene = await missing();
    scene.vault().uploads("app.conf");
    scene.vault().lists();
    scene.put(
      vaultFileKind,
      { namespace: "shop", name: "rival" },
      {
        connectionRef: { name: "vault" },
        files: [{ filename: "app.conf" }],
        target: { kind: "Secret", name: "db" },
      },
    );
    await scene.settle();
    await scene.stop();
    removeLabel(scene);
    const messages = messagesOf(scene);
    await scene.replace();
    await scene.settle(60_000);
    expect(messages.filter((message) => !message.includes("existing content is kept"))).toEqual([]);
  });

  test("is reported as not created once it is deleted", async () => {
    await using scene = await missing();
    scene.deleteTarget();
    await scene.settle();
    expect(scene.condition("Ready")?.message).toContain("the Secret db is not created without it");
  });
});
