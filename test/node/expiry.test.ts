import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { areBothReady, operatorPods, operatorProcesses, tokenOf } from "./support/operator-pods.ts";
import { NodeNamespace } from "./support/scene.ts";

/** Minutes in which the operator works with short tokens: `npm test -- node --minutes 12`. */
const minutes = Number(process.env["VAULTSYNC_TEST_MINUTES"] ?? 0);

/** The shortest lifetime of a token that Kubernetes permits, and the lifetime in the chart, in seconds. */
const SHORTEST = 600;
const USUAL = 3_600;

const SLOW_MS = 180_000;
const key = "expiry-db";

let namespace: NodeNamespace;
beforeAll(async () => {
  namespace = await NodeNamespace.create("expiry");
  await namespace.apply(vaultSecret("db", { password: key }));
});

const Volumes = z.object({
  spec: z.object({
    template: z.object({ spec: z.object({ volumes: z.array(z.object({ name: z.string() })) }) }),
  }),
});

/** Replaces the pods of the operator by those whose tokens live for this time. */
async function setLifetime(seconds: number): Promise<void> {
  const deployment = await namespace.inSystem("get", "deployment", "vaultsync", "--output=json");
  const { volumes } = Volumes.parse(JSON.parse(deployment)).spec.template.spec;
  const at = volumes.findIndex(({ name }) => name === "service-account");
  const source = `/spec/template/spec/volumes/${at}/projected/sources/0`;
  const path = `${source}/serviceAccountToken/expirationSeconds`;
  const patch = JSON.stringify([{ op: "replace", path, value: seconds }]);
  await namespace.inSystem("patch", "deployment", "vaultsync", "--type=json", `--patch=${patch}`);
  await namespace.inSystem("rollout", "status", "deployment/vaultsync", "--timeout=180s");
  await waitUntil("both replicas are ready", () => areBothReady(namespace.cluster), SLOW_MS, 500);
}

afterAll(() => setLifetime(USUAL), 2 * SLOW_MS);

test(
  "the operator works on when the token of its start has expired",
  async () => {
    await setLifetime(SHORTEST);
    const before = await operatorProcesses(namespace.cluster);
    const [pod] = await operatorPods(namespace.cluster);
    if (pod === undefined) throw new Error("the operator has no pod");
    const { iat, exp } = await tokenOf(namespace.cluster, pod);
    expect(exp - iat).toBe(SHORTEST);
    const end = Date.now() + minutes * 60_000;
    do {
      await namespace.secretHas("db", "password", await namespace.protect(key));
      await new Promise((resolve) => setTimeout(resolve, Math.min(20_000, minutes * 1_000)));
    } while (Date.now() < end);
    expect((await tokenOf(namespace.cluster, pod)).exp * 1_000).toBeGreaterThan(Date.now());
    expect(await operatorProcesses(namespace.cluster)).toEqual(before);
  },
  (8 + minutes) * 60_000,
);
