import { expect, test } from "vitest";
import type { OperatorFlags } from "../../src/operator/config.ts";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";

const READS = /^(?:version_)?expose|^download_file$/u;

/** Starts an operator, and returns the consumers that reads of values and other requests report. */
async function started(flags: OperatorFlags = {}, spec: object = { reportUse: true }) {
  const scene = new SimulatedWorld({ apiLatencyMs: 0, settleMs: 30_000 });
  const read: string[] = [];
  const others = new Set<string>();
  scene.vault().latencyMs = 0;
  scene.vault().network = {
    send: ({ operation, body, consumer }) => {
      if (!READS.test(operation)) others.add(consumer ?? "none");
      else read.push(`${nameIn(body)} for ${consumer ?? "none"}`);
      return Promise.resolve(undefined);
    },
  };
  scene.pushes.connected("shop");
  scene.connect("vault", { refreshInterval: "10s", ...spec });
  scene.start(flags);
  await scene.settle();
  return { scene, others, take: () => read.splice(0) };
}

function nameIn(body: object): string {
  const { key_name, filename } = body as { key_name?: string; filename?: string };
  return key_name ?? filename ?? "";
}

test("a read of a value reports the VaultSecret or VaultFile that it is for", async () => {
  const { scene, others, take } = await started();
  await using _ = scene;
  scene.vault().write("a");
  scene.vault().upload(ACCOUNT, "conf", Buffer.from("conf"));
  scene.follow({ password: "a" }, { name: "shop-db" });
  scene.followFiles({ namespace: "shop", name: "app" }, { namespace: "shop", name: "vault" }, [
    "conf",
  ]);
  await scene.settle();
  expect(take().sort()).toEqual([
    "a for kubernetes/shop/VaultSecret/shop-db",
    "conf for kubernetes/shop/VaultFile/app",
  ]);
  expect([...others]).toEqual(["none"]);
});

test("a VaultPush is reported when it compares what the vault has", async () => {
  const { scene, others, take } = await started({ clusterName: "prod.eu-1" });
  await using _ = scene;
  scene.pushes.source({ password: "one" });
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  expect(new Set(take())).toEqual(new Set(["db for prod.eu-1/shop/VaultPush/push"]));
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(new Set(take())).toEqual(new Set(["db for prod.eu-1/shop/VaultPush/push"]));
  expect([...others]).toEqual(["none"]);
});

test("a value from the cache reports no resource", async () => {
  const { scene, take } = await started();
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" }, { name: "one" });
  await scene.settle();
  scene.follow({ password: "a" }, { name: "two" });
  await scene.settle();
  expect(take()).toEqual(["a for kubernetes/shop/VaultSecret/one"]);
});

test.each([{}, { reportUse: false }])("no resource is reported with %o", async (spec) => {
  const { scene, take } = await started({ clusterName: "prod" }, spec);
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(new Set(take())).toEqual(new Set(["a for none", "db for none"]));
});

test("reads report their resource from the change of the field on, until the next one", async () => {
  const { scene, take } = await started({}, {});
  await using _ = scene;
  scene.vault().write("a");
  scene.follow({ password: "a" });
  await scene.settle();
  scene.connect("vault", { refreshInterval: "10s", reportUse: true });
  await scene.settle();
  scene.vault().write("a");
  await scene.settle();
  scene.connect("vault", { refreshInterval: "10s" });
  await scene.settle();
  scene.vault().write("a");
  await scene.settle();
  expect(take()).toEqual(["a for none", "a for kubernetes/shop/VaultSecret/db", "a for none"]);
});
