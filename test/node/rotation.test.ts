import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { account } from "../../scripts/demo/vault-account.ts";
import { cliLogin } from "../lab/real/cli-login.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { NodeNamespace } from "./support/scene.ts";
import { RotatingApp } from "./support/rotating-app.ts";

/**
 * A password that changes while two pods log in with it, 50 times a second: from the new version to
 * the revoked old one, and from a bad value back to the good one.
 */
const PER_SECOND = 50;
const slow = { timeout: 180_000, interval: 500 };

let namespace: NodeNamespace;
let login: Awaited<ReturnType<typeof cliLogin>>;
beforeAll(async () => {
  namespace = await NodeNamespace.create("rotation");
  const { outsideUrl: url, ca, password } = inject("vault");
  login = await cliLogin({ url, email: account, password, ca });
});
afterAll(() => login[Symbol.asyncDispose]());

const inCluster = (...args: readonly string[]) =>
  runInProcess([
    ...args,
    "--account",
    login.account,
    "--kubeconfig",
    join(namespace.cluster.directory, "kubeconfig"),
  ]);

/** A VaultSecret whose change restarts a Deployment of the same name. */
const following = (name: string, key: string, more: object = {}): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { name },
  spec: {
    connectionRef: { name: "vault" },
    data: [
      { secretKey: "password", remoteRef: { key }, ...more },
      { secretKey: "previous", remoteRef: { key, version: "previous" }, optional: true },
    ],
    rolloutRestart: [{ kind: "Deployment", name }],
  },
});

async function condition(name: string, type: string): Promise<string> {
  const path = `jsonpath={.status.conditions[?(@.type=="${type}")].status}`;
  return namespace.kubectl("get", "vaultsecret", name, "--output", path);
}

test("two rotations under load refuse no login, and the first password is revoked", async () => {
  const first = await namespace.protect("rotation-db");
  await namespace.apply(following("shop", "rotation-db"));
  await namespace.secretHas("shop", "password", first);
  const app = await RotatingApp.start(namespace, "shop", "shop", [first]);
  const end = new AbortController();
  const served = app.load(PER_SECOND, end.signal);
  /** Changes the password: the database accepts it before the vault has it. */
  const rotate = async (from: string): Promise<string> => {
    const to = `next-${from}`;
    await app.accept(from, to);
    await namespace.protect("rotation-db", to);
    await namespace.secretHas("shop", "password", to);
    await namespace.secretHas("shop", "previous", from);
    await expect.poll(() => condition("shop", "Converged"), slow).toBe("True");
    return to;
  };
  try {
    const second = await rotate(first);
    // Other programs may still use the key `previous`.
    expect((await retire(1)).code).toBe(3);
    const third = await rotate(second);
    const done = await retire(1);
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("deleted version 1") });
    await app.accept(third);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  } finally {
    end.abort();
  }
  const counts = await served;
  process.stdout.write(`rotations: ${JSON.stringify(counts)}\n`);
  expect(counts).toMatchObject({ refused: 0, failed: 0 });
  expect(counts.requests).toBeGreaterThan(5 * PER_SECOND);
});

const retire = (version: number) =>
  inCluster("retire", "rotation-db", "--version", `${version}`, "--yes");

test("a bad value is not served if it breaks a rule, and taken back in one command if it fits", async () => {
  const good = await namespace.protect("rotation-shop");
  const rule = { validate: { pattern: "^canary-" } };
  await namespace.apply(following("stock", "rotation-shop", rule));
  await namespace.secretHas("stock", "password", good);
  const app = await RotatingApp.start(namespace, "stock", "stock", [good]);
  const end = new AbortController();
  const served = app.load(PER_SECOND, end.signal);
  await namespace.protect("rotation-shop", `wrong-${good}`);
  await expect.poll(() => condition("stock", "Ready"), slow).toBe("False");
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  end.abort();
  const counts = await served;
  process.stdout.write(`a value against its rule: ${JSON.stringify(counts)}\n`);
  expect(counts).toMatchObject({ refused: 0, failed: 0 });

  await namespace.protect("rotation-shop", `canary-bad-${good}`);
  await expect.poll(() => condition("stock", "Converged"), slow).toBe("True");
  await namespace.secretHas("stock", "password", `canary-bad-${good}`);
  const from = performance.now();
  const rollback = "rollback stock --key password --to 1 --wait --timeout 120".split(" ");
  const done = await inCluster(...rollback, "-n", namespace.name);
  const seconds = (performance.now() - from) / 1_000;
  expect(done).toMatchObject({ code: 0 });
  process.stdout.write(`from rollback --wait to the last pod: ${seconds.toFixed(1)} s\n`);
  const back = new AbortController();
  const after = app.load(PER_SECOND, back.signal);
  setTimeout(() => back.abort(), 3_000);
  expect(await after).toMatchObject({ refused: 0, failed: 0 });
});
