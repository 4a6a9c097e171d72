import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { cliLogin } from "../lab/real/cli-login.ts";
import { manifestsOf } from "../lab/real/granted.ts";
import { condition, type ObservedObject, vaultSecret } from "../lab/real/resources.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { workload } from "../lab/real/workloads.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";

/** `vaultsync plan` compared with a cluster, whose operator then does what it said. */
let world: World;
let login: Awaited<ReturnType<typeof cliLogin>>;
let directory: string;
beforeAll(async () => {
  world = await World.create();
  const password = world.vault.passwords.get(ACCOUNT) ?? "";
  login = await cliLogin({ url: world.vault.url, email: ACCOUNT, password });
  directory = await mkdtemp(join(tmpdir(), "vaultsync-plan-"));
  await world.startOperator();
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await login[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const planSchema = z.object({
  keys: z.array(
    z.object({
      key: z.string(),
      served: z.number().optional(),
      version: z.number().optional(),
      change: z.string(),
      author: z.string().optional(),
      waitsFor: z.string().optional(),
    }),
  ),
  restarts: z.array(z.object({ workload: z.string(), restart: z.string() })),
  problems: z.array(z.unknown()),
  notChecked: z.array(z.string()),
});

/** Runs `vaultsync plan` for a manifest. */
async function run(manifest: object, ...args: string[]) {
  const file = join(directory, "manifest.yaml");
  await writeFile(file, JSON.stringify(manifest));
  return world.run("plan", "-f", file, "--account", login.account, ...args);
}

/** Plans a manifest. */
async function plan(manifest: object, ...args: string[]) {
  const { stdout, stderr } = await run(manifest, "-o", "json", ...args);
  expect(stderr).toBe("");
  return planSchema.parse(JSON.parse(stdout));
}

/** Returns the versions that a status shows, by key. */
const versionsIn = ({ status }: ObservedObject): Record<string, number | undefined> => {
  const items = z.array(z.object({ secretKey: z.string(), version: z.number().optional() }));
  return Object.fromEntries(
    items.parse(status?.["items"]).map(({ secretKey, version }) => [secretKey, version]),
  );
};

/** Applies a manifest, and returns what the target has when the operator has reconciled it. */
async function applied(name: string, manifest: object) {
  await world.apply(manifest);
  const generationOf = z.object({ metadata: z.object({ generation: z.number() }) });
  const resource = await world.until("VaultSecret", name, (one) => {
    const { generation } = generationOf.parse(one).metadata;
    return (
      one.status?.["observedGeneration"] === generation &&
      condition(one, "Ready")?.status === "True"
    );
  });
  const secret = await world.get("Secret", name);
  return { versions: versionsIn(resource), keys: Object.keys(secret?.data ?? {}).sort() };
}

/** Returns the versions that the target has according to a plan, by key. */
const planned = ({ keys }: z.output<typeof planSchema>): Record<string, number | undefined> =>
  Object.fromEntries(
    keys.filter(({ change }) => change !== "leaving").map(({ key, version }) => [key, version]),
  );

/** A VaultSecret `shop` that waits for approvals. */
const shop = (keys: Parameters<typeof vaultSecret>[1], annotations = {}) => {
  const { spec, ...rest } = vaultSecret("shop", keys);
  const rolloutRestart = [{ kind: "Deployment", name: "web" }];
  const metadata = { name: "shop", annotations };
  return {
    ...rest,
    metadata,
    spec: { ...spec, updates: { approval: "Required" }, rolloutRestart },
  };
};

test("the operator does what the plan of a changed manifest says", async () => {
  for (const name of ["db", "user", "token"]) await world.protect(name, world.canaries.text(name));
  await world.apply(workload("Deployment", "web", { secrets: ["shop"] }));
  const before = shop({ password: "db", user: "user" });
  expect(await plan(before)).toMatchObject({
    keys: [
      { key: "password", version: 1, change: "new", author: ACCOUNT },
      { key: "user", version: 1, change: "new" },
    ],
    restarts: [],
    problems: [],
  });
  await applied("shop", before);

  const newer = world.canaries.text("newer");
  await world.protect("db", newer);
  await world.until(
    "VaultSecret",
    "shop",
    (one) => condition(one, "UpdateAvailable") !== undefined,
  );
  expect(await plan(before)).toMatchObject({
    keys: [
      { key: "password", served: 1, version: 1, change: "none", waitsFor: "AwaitingApproval" },
      { key: "user", served: 1, version: 1, change: "none" },
    ],
    restarts: [],
  });

  const after = shop({ password: "db", token: "token" });
  const shown = await run(after);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toMatch(/VERSION +BY +UPDATES\n.*password +db +1 → 2 +ops@example\.com/u);
  expect(shown.stdout).toMatch(/token +token +1 \(new\)[^]*user +user +1 \(leaving\)/u);
  expect(shown.stdout).toMatch(/WORKLOAD +RESTART\n.*Secret\/shop +deployment\/web +restarted\n$/u);
  const result = await plan(after);
  expect(planned(result)).toEqual({ password: 2, token: 1 });
  const { versions, keys } = await applied("shop", after);
  expect(versions).toEqual(planned(result));
  expect(keys).toEqual(["password", "token"]);
  const again = await plan(after);
  expect(again.keys.map(({ change }) => change)).toEqual(["none", "none"]);
  expect(again.restarts).toEqual([]);
  expect(world.canaries.tracesIn({ stdout: shown.stdout, plan: JSON.stringify(result) })).toEqual(
    [],
  );
});

test("the operator follows the versions that a manifest approves or holds, as planned", async () => {
  const keys = { password: "db", token: "token" };
  await applied("shop", shop(keys));
  const { password = 0 } = planned(await plan(shop(keys)));
  const next = await world.protect("db", world.canaries.text("next"));
  const waiting = await world.until(
    "VaultSecret",
    "shop",
    (one) => condition(one, "UpdateAvailable")?.message.includes(`→ ${next}`) === true,
  );
  const digest = z.string().parse(waiting.status?.["approvalDigest"]);
  for (const annotations of [
    { "vaultsync.dev/approve": digest },
    { "vaultsync.dev/approve": digest, "vaultsync.dev/hold": '{"versions":{"password":1}}' },
  ]) {
    const manifest = shop(keys, annotations);
    const result = await plan(manifest);
    const version = "vaultsync.dev/hold" in annotations ? 1 : next;
    expect(result.keys[0]).toMatchObject({
      served: version === 1 ? next : password,
      version,
      change: "version",
    });
    await world.apply(manifest);
    const resource = await world.until(
      "VaultSecret",
      "shop",
      (one) => versionsIn(one)["password"] === version,
    );
    expect(versionsIn(resource)).toEqual(planned(result));
  }
});

/** A VaultFile `web` that waits for approvals. */
const web = (more: object) => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultFile",
  metadata: { name: "web" },
  spec: {
    connectionRef: { name: "vault" },
    files: [{ filename: "web.conf" }],
    target: { kind: "ConfigMap" },
    updates: { approval: "Required" },
    ...more,
  },
});

test("the operator does what the plan of a changed VaultFile says", async () => {
  const upload = (name: string) => world.upload("web.conf", Buffer.from(world.canaries.text(name)));
  await upload("first");
  await world.apply(web({}));
  await world.ready("VaultFile", "web");
  await upload("second");
  await world.until("VaultFile", "web", (one) => condition(one, "UpdateAvailable") !== undefined);
  expect((await plan(web({}))).keys).toMatchObject([
    { key: "web.conf", served: 1, version: 1, change: "none", waitsFor: "AwaitingApproval" },
  ]);
  const changed = web({ expiryNotice: "14d" });
  expect((await plan(changed)).keys).toEqual([
    { key: "web.conf", served: 1, version: 2, change: "version" },
  ]);
  await world.apply(changed);
  await world.until("VaultFile", "web", ({ status }) => {
    const items = z.array(z.object({ version: z.number() })).parse(status?.["items"]);
    return items[0]?.version === 2;
  });
});

const servesRollouts = async (): Promise<boolean> =>
  (await world.plane.kubectlOutput(["api-versions"])).includes("argoproj.io/");

test("a user with the role view sees the comparison, and what could not be read", async () => {
  const cluster = await manifestsOf(world.plane, "deploy/cluster", "vaultsync-system");
  const role = cluster.find(({ metadata }) => metadata.name === "vaultsync-view");
  await world.plane.apply([role ?? {}], world.namespace);
  const user = `viewer-of-${world.namespace}`;
  const bind = ["create", "rolebinding", "view", "--clusterrole=view", `--user=${user}`];
  await world.plane.kubectlOutput(bind, { namespace: world.namespace });
  const manifest = shop({ password: "db", token: "token", more: "user" });
  const result = await waitUntil("the role has its rules, and no test adds a kind", async () => {
    const served = await servesRollouts();
    const { stdout } = await run(manifest, "-o", "json", "--as", user);
    const parsed = planSchema.safeParse(stdout === "" ? undefined : JSON.parse(stdout));
    const isCompared = parsed.data?.keys.every(({ change }) => change !== undefined) === true;
    const isSteady = served === (await servesRollouts());
    return isCompared && isSteady ? { ...parsed.data, served } : undefined;
  });
  expect(result).toMatchObject({
    keys: [{ key: "password" }, { key: "token" }, { key: "more", change: "new" }],
    restarts: [{ workload: "deployment/web" }],
    problems: [],
  });
  // The role has no right to rollouts. The cluster has them while another test runs.
  const unseen = `restarts in namespace ${world.namespace} are not all shown: you may not list rollouts`;
  expect(result.notChecked).toEqual(result.served ? [unseen] : []);
  const stranger = await run(manifest, "--as", "stranger");
  expect(stranger.code).toBe(0);
  expect(stranger.stderr).toContain(
    `the resources in namespace ${world.namespace} are not compared with the cluster: you may not list its VaultSecrets and VaultFiles`,
  );
});

test.each<[string, (context: string) => string[], boolean]>([
  ["--cluster", () => ["--cluster"], true],
  ["--context", (context) => ["--context", context], true],
  ["no flag for a cluster", () => [], false],
])(
  "with %s the comparison is with the current kubeconfig, or none",
  async (_, flags, isCompared) => {
    const context = (await world.plane.kubectlOutput(["config", "current-context"])).trim();
    const file = join(directory, "manifest.yaml");
    await writeFile(file, JSON.stringify(shop({ password: "db" })));
    const args = ["-f", file, "-n", world.namespace, "--offline", "-o", "json", ...flags(context)];
    const { stdout } = await runInProcess(["plan", ...args], {
      KUBECONFIG: world.plane.kubeconfigPath,
    });
    const { keys, ...rest } = z
      .looseObject({ keys: z.array(z.looseObject({})) })
      .parse(JSON.parse(stdout));
    expect([keys[0]?.["change"], "restarts" in rest]).toEqual(
      isCompared ? ["unknown", true] : [undefined, false],
    );
  },
);
