import { afterAll, beforeAll, expect, test } from "vitest";
import { barePod, workload, Workloads } from "../lab/real/workloads.ts";
import { condition, vaultSecret } from "../lab/real/resources.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { cliLogin } from "../lab/real/cli-login.ts";

/**
 * `vaultsync usage` and `vaultsync retire`, with workloads that the controllers of a real cluster
 * run. No kubelet runs: the test makes pods ready.
 */
let world: World;
let pods: AsyncDisposable;
let login: Awaited<ReturnType<typeof cliLogin>>;
beforeAll(async () => {
  world = await World.create();
  pods = new Workloads(world.plane, world.namespace).runPods();
  await world.startOperator(["--no-leader-elect", "--restart-window", "1s"]);
  login = await cliLogin({
    url: world.vault.url,
    email: ACCOUNT,
    password: world.vault.passwords.get(ACCOUNT) ?? "",
  });
});
afterAll(async () => {
  await pods[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  await login[Symbol.asyncDispose]();
});

const run = (command: string, ...args: string[]) =>
  runInProcess([command, ...args, "--kubeconfig", world.plane.kubeconfigPath]);
const usage = (...args: string[]) => run("usage", ...args, "-n", world.namespace);
const retire = (...args: string[]) =>
  run("retire", "retired-db", ...args, "--account", login.account);
const converged = (status: string) =>
  world.until("VaultSecret", "retired-db", (one) => condition(one, "Converged")?.status === status);

test("a version is retired when no pod runs it any more, and not before", async () => {
  await world.protect("retired-db", world.canaries.text("first"));
  const shop = vaultSecret("retired-db", { password: "retired-db" });
  const rolloutRestart = [{ kind: "Deployment", name: "web" }];
  await world.apply({ ...shop, spec: { ...shop.spec, rolloutRestart } });
  await world.ready("VaultSecret", "retired-db");
  await world.apply(workload("Deployment", "web", { secrets: ["retired-db"] }));
  await world.apply(barePod("debug", "retired-db"));
  await world.protect("retired-db", world.canaries.text("second"));
  const waiting = await world.until(
    "VaultSecret",
    "retired-db",
    (one) => condition(one, "Converged")?.message.includes("nothing restarts Pod debug") === true,
  );
  expect(condition(waiting, "Converged")).toMatchObject({
    status: "False",
    reason: "NotRestarted",
  });

  const shown = await usage("retired-db");
  expect(shown.stdout).toMatch(
    /retired-db +2 +\S+ +vaultsecret\/retired-db +secret\/retired-db +deployment\/web +False/u,
  );
  expect(shown.stdout).toMatch(/pod\/debug +False/u);
  expect((await usage("retired-db", "--impact")).stdout).toMatch(
    /deployment\/web +restarted, immediately/u,
  );
  expect((await usage("--unused")).stdout).not.toContain("retired-db");
  const refused = await retire("--version", "1", "--yes");
  expect(refused).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("nothing restarts Pod debug"),
    stderr: expect.stringContaining("nothing was deleted"),
  });
  expect(await retire("--version", "2", "--yes")).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("its target has version 2"),
  });

  await world.plane.kubectlOutput(["delete", "pod", "debug", "--force", "--grace-period=0"], {
    namespace: world.namespace,
  });
  await converged("True");
  const proven = await usage("deployment/web");
  expect(proven.stdout).toMatch(/deployment\/web +True/u);
  const asked = await retire("--version", "1", "--dry-run", "-o", "json");
  const { resources } = JSON.parse(asked.stdout);
  const own = resources.filter(
    (one: object) => "namespace" in one && one.namespace === world.namespace,
  );
  expect(own).toEqual([
    { namespace: world.namespace, resource: "vaultsecret/retired-db", version: 2 },
  ]);
  // Rules of other tests may find it for a short time: the command asks all namespaces.
  await expect
    .poll(() => retire("--version", "1", "--yes"), { timeout: 60_000, interval: 1_000 })
    .toMatchObject({ code: 0, stderr: "deleted version 1 of retired-db\n" });
  await world.protect("shop-unused", world.canaries.text("unused"));
  const unused = await usage("--unused-entries", "--account", login.account, "-o", "json");
  expect(JSON.parse(unused.stdout)).toMatchObject({ entries: [{ name: "shop-unused" }] });
  const listed = await runInProcess([
    "secret",
    "versions",
    "retired-db",
    "--account",
    login.account,
  ]);
  expect(listed.stdout).toMatch(/^2 /mu);
  expect(listed.stdout).not.toMatch(/^1 /mu);
});

test("a rollback waits until all pods run the former version", async () => {
  await world.protect("retired-db", world.canaries.text("third"));
  await world.until(
    "VaultSecret",
    "retired-db",
    (one) => condition(one, "Converged")?.status !== "True",
  );
  await converged("True");
  const wait = ["--wait", "--timeout", "120", "-n", world.namespace];
  expect(await run("rollback", "retired-db", ...wait)).toMatchObject({ code: 0 });
  const { stdout } = await usage("retired-db");
  expect(stdout).toMatch(/retired-db +2 .* deployment\/web +True/u);
});
