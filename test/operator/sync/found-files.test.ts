import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { CONFIG_MAPS, type KubeObject } from "../../../src/operator/kube/resource.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";

const ref = { namespace: "shop", name: "web" };
const FIND = {
  find: { filename: { regexp: "^conf/" } },
  rewrite: [{ regexp: { source: "^conf/", target: "" } }],
};

/** Starts an operator whose VaultFile finds the files in `conf/`, in a vault that has these. */
async function finding(
  files: readonly string[],
  spec: object = { filesFrom: [FIND] },
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().uploads(...files);
  scene.put(vaultFileKind, ref, {
    connectionRef: { name: "vault" },
    target: { kind: "ConfigMap" },
    ...spec,
  });
  await scene.settle();
  return scene;
}

function outcome(scene: SimulatedWorld): string {
  const { conditions } = readStatus("VaultFile", scene.server.get(vaultFileKind, ref)["status"]);
  const target: (KubeObject & { readonly data?: Readonly<Record<string, string>> }) | undefined =
    scene.server.find(CONFIG_MAPS, ref);
  const reason = conditions?.find(({ type }) => type === "Ready")?.reason;
  return `${Object.entries(target?.data ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(" ")}: ${reason}`;
}

test("find takes the files whose name matches, and a new one with the next list", async () => {
  await using scene = await finding(["conf/a", "conf/b", "other"]);
  expect(outcome(scene)).toBe("a=vault conf/a@1 b=vault conf/b@1: Synced");
  scene.vault().reads.length = 0;
  scene.vault().uploads("conf/a", "conf/b", "conf/c", "other");
  await scene.settle();
  expect(outcome(scene)).toBe("a=vault conf/a@1 b=vault conf/b@1 c=vault conf/c@1: Synced");
  expect(scene.vault().reads).toEqual(["conf/c@1"]);
});

test("a found file that disappears keeps its key", async () => {
  await using scene = await finding(["conf/a", "conf/b"]);
  scene.vault().uploads("conf/a");
  await scene.settle();
  expect(outcome(scene)).toBe("a=vault conf/a@1 b=vault conf/b@1: SourceMissing");
});

test("a found file without a valid key is InvalidKey", async () => {
  await using scene = await finding(["conf/a/b"]);
  expect(outcome(scene)).toBe(": InvalidKey");
});

test("found files of more than 1 MiB together are TooLarge before any of them is read", async () => {
  const scene = await SimulatedWorld.shop();
  await using _ = scene;
  for (const filename of ["conf/a", "conf/b"])
    scene.vault().upload(ACCOUNT, filename, new Uint8Array(600 * 1024));
  scene.put(vaultFileKind, ref, {
    connectionRef: { name: "vault" },
    target: { kind: "ConfigMap" },
    filesFrom: [FIND],
  });
  await scene.settle();
  expect(outcome(scene)).toBe(": TooLarge");
  expect(scene.vault().reads).toEqual([]);
});

test("files and rules make up one target; a file of both has its own key", async () => {
  await using scene = await finding(["conf/a", "main"], {
    files: [{ filename: "main" }, { filename: "conf/a", key: "first" }],
    filesFrom: [FIND],
  });
  expect(outcome(scene)).toBe("a=vault conf/a@1 first=vault conf/a@1 main=vault main@1: Synced");
});
