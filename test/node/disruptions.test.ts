import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { nodeName } from "../lab/node/layout.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { signalContainer } from "./support/containers.ts";
import {
  areBothReady,
  leadingOperator,
  operatorPods,
  readyOperators,
  system,
  tokenOf,
} from "./support/operator-pods.ts";
import type { Pod } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 180_000, interval: 500 };
const key = "disruptions-db";

let namespace: NodeNamespace;
beforeAll(async () => {
  namespace = await NodeNamespace.create("disruptions");
  await namespace.apply(vaultSecret("db", { password: key }));
});

const ready = (): Promise<boolean[]> => readyOperators(namespace.cluster);

beforeEach(() =>
  waitUntil("both replicas are ready", () => areBothReady(namespace.cluster), 120_000, 500),
);

/** Expects that the target follows a new version. */
async function expectSync(): Promise<void> {
  await namespace.secretHas("db", "password", await namespace.protect(key));
}

const leader = (): Promise<Pod> => leadingOperator(namespace.cluster);

const Containers = z.object({
  status: z.object({
    containerStatuses: z.array(
      z.object({
        restartCount: z.int(),
        lastState: z.object({ terminated: z.object({ exitCode: z.int() }).optional() }),
      }),
    ),
  }),
});

/** Returns the exit code of the container of a pod once it was restarted again. */
async function exitCode({ metadata, status }: Pod): Promise<number | undefined> {
  const text = await namespace.inSystem("get", "pod", metadata.name, "--output=json");
  const [container] = Containers.parse(JSON.parse(text)).status.containerStatuses;
  const former = status.containerStatuses[0]?.restartCount ?? 0;
  if (container === undefined || container.restartCount === former) return undefined;
  return container.lastState.terminated?.exitCode;
}

test("a drain evicts one replica, and not the other one until there is another ready", async () => {
  const former = (await operatorPods(namespace.cluster)).map(({ metadata }) => metadata.uid);
  const pods = "--pod-selector=app.kubernetes.io/name=vaultsync";
  const drain = ["drain", nodeName, pods, "--timeout=15s"];
  const { code, stderr } = await namespace.cluster.kubectl(drain);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("would violate the pod's disruption budget"),
  });
  expect((await ready()).filter(Boolean)).toHaveLength(1);
  await expectSync();
  await namespace.cluster.kubectlOutput(["uncordon", nodeName]);
  await expect.poll(ready, slow).toEqual([true, true]);
  const pods_ = await operatorPods(namespace.cluster);
  expect(pods_.filter(({ metadata }) => former.includes(metadata.uid))).toHaveLength(1);
  await expectSync();
});

test("SIGTERM ends the leader with 0, and the other replica leads", async () => {
  const pod = await leader();
  signalContainer(namespace.cluster, pod, "SIGTERM");
  await expect.poll(() => exitCode(pod), slow).toBe(0);
  expect((await leader()).metadata.name).not.toBe(pod.metadata.name);
  await expectSync();
});

test("a leader that hangs is replaced, and its liveness probe restarts it", async () => {
  const pod = await leader();
  signalContainer(namespace.cluster, pod, "SIGSTOP");
  await expectSync();
  expect((await leader()).metadata.name).not.toBe(pod.metadata.name);
  await expect.poll(() => exitCode(pod), slow).toBe(137);
  await expectSync();
});

test("the operator uses the token that the kubelet writes after its restart", async () => {
  const pod = await leader();
  const tokenId = async (): Promise<string> => (await tokenOf(namespace.cluster, pod)).jti;
  const first = await tokenId();
  const since = await namespace.cluster.auditMark();
  await namespace.cluster.stopKubelet();
  await namespace.cluster.startKubelet();
  await expect.poll(tokenId, slow).not.toBe(first);
  const credential = `JTI=${await tokenId()}`;
  const used = async (): Promise<boolean> =>
    (await namespace.cluster.auditEvents({ since })).some(({ user }) =>
      user.extra?.["authentication.kubernetes.io/credential-id"]?.includes(credential),
    );
  await expect.poll(used, slow).toBe(true);
  await expectSync();
});

test("kubectl logs, exec and port-forward reach the operator's pod", async () => {
  const lines = (await namespace.inSystem("logs", (await leader()).metadata.name))
    .trim()
    .split("\n");
  expect(
    lines.map((line) => z.looseObject({ level: z.string() }).safeParse(JSON.parse(line)).success),
  ).not.toContain(false);
  const status = ["/app/dist/main.js", "status", `--namespace=${namespace.name}`];
  const command = ["exec", "deployment/vaultsync", "--", "/usr/local/bin/node", ...status];
  expect(await namespace.inSystem(...command)).toMatch(/vaultsecret\/db +True +Synced/u);
  await using forwarded = await forward();
  const metrics = await fetch(`http://127.0.0.1:${forwarded.port}/metrics`);
  expect(await metrics.text()).toContain("vaultsync_build_info");
});

/** Forwards a free port of this machine to the metrics of the operator. */
async function forward(): Promise<AsyncDisposable & { readonly port: string }> {
  const { kubectlPath, kubeconfigPath } = namespace.cluster;
  const args = [`--namespace=${system}`, "port-forward", "deployment/vaultsync", ":8080"];
  const child = spawn(kubectlPath, args, {
    env: { ...process.env, KUBECONFIG: kubeconfigPath },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [first] = await once(createInterface({ input: child.stdout }), "line");
  const port = /^Forwarding from 127\.0\.0\.1:(\d+) /u.exec(String(first))?.[1] ?? "";
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await ended;
    },
  };
}
