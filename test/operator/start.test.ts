import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import type { OperatorFlags } from "../../src/operator/config.ts";
import { KubeError, type KubeErrorDetails } from "../../src/operator/kube/kube-error.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;

type Failure = Omit<KubeErrorDetails, "operation">;
const failures: readonly Failure[] = [
  { kind: "Timeout", reason: "UND_ERR_CONNECT_TIMEOUT" },
  { kind: "Timeout", reason: "Deadline" },
  { kind: "Unavailable", reason: "ECONNRESET" },
  { kind: "Unavailable", status: 500 },
  { kind: "TooManyRequests", status: 429, retryAfterMs: 1_000 },
  { kind: "Unauthorized", status: 401 },
  { kind: "Forbidden", status: 403 },
];
const flags: readonly OperatorFlags[] = [
  { leaderElect: false },
  {},
  { shards: 3 },
  { namespaces: ["shop"] },
  { targetWatch: "off" },
];

/**
 * Starts an operator. Whether a request fails depends on its number among the requests of its verb
 * and resource.
 */
function start(
  scene: SimulatedWorld,
  failureOf: (number: number, request: string) => Failure | undefined,
  flag?: OperatorFlags,
): void {
  const seen = new Map<string, number>();
  scene.addVault("shop", ["db"]);
  scene.network = {
    send: ({ verb, resource }) => {
      const operation = `${verb} ${resource.plural}`;
      const number = (seen.get(operation) ?? 0) + 1;
      seen.set(operation, number);
      const failure = failureOf(number, operation);
      if (failure !== undefined) throw new KubeError({ operation, ...failure });
    },
  };
  scene.start(flag);
}

test.each(failures.flatMap((failure) => flags.map((flag) => ({ failure, flag }))))(
  "an operator with $flag starts although requests of each kind fail: $failure.kind $failure.reason",
  async ({ failure, flag }) => {
    await using scene = new SimulatedWorld();
    // Four renewals that fail are a lost Lease.
    start(
      scene,
      (number, request) => (number <= (request === "update leases" ? 2 : 4) ? failure : undefined),
      flag,
    );
    await scene.clock.advance(5 * MINUTE);
    expect(scene.isReady).toBe(true);
    expect(scene.value("shop", "db")).toBe("db@1");
    expect(scene.problems.text).toBeUndefined();
  },
);

test.each([
  ["get secrets", "get secrets: Timeout (UND_ERR_CONNECT_TIMEOUT)"],
  ["create secrets", "create secrets: Timeout (UND_ERR_CONNECT_TIMEOUT)"],
  ["list leases", "list leases: Timeout (UND_ERR_CONNECT_TIMEOUT)"],
  ["create leases", "create leases: Timeout (UND_ERR_CONNECT_TIMEOUT)"],
])("%s is named while it fails at the start", async (request, named) => {
  await using scene = new SimulatedWorld();
  let isFailing = true;
  start(scene, (_, one) => (isFailing && one === request ? failures[0] : undefined), {});
  await scene.clock.advance(15 * MINUTE);
  expect(scene.problems.text).toBe(
    `${named}: the API server 10.0.0.1:6443 does not respond in time: check the network and its load`,
  );
  const lines = scene.log.filter(({ level }) => level === "error");
  expect(lines.map(({ message }) => message)).toEqual(
    Array(2).fill("API server cannot be used, retrying"),
  );
  isFailing = false;
  await scene.clock.advance(MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
  expect(scene.problems.text).toBeUndefined();
});

test("an operator whose namespace does not exist starts when it is created", async () => {
  await using scene = new SimulatedWorld();
  scene.server.erase(
    { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
    { name: "vaultsync-system" },
  );
  start(scene, () => undefined);
  await scene.clock.advance(MINUTE);
  expect(scene.problems.text).toBe(
    'the operator\'s namespace vaultsync-system does not exist: create it with "kubectl create namespace vaultsync-system"',
  );
  scene.server.createNamespace("vaultsync-system");
  await scene.clock.advance(MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
});

test("an operator with a malformed content key starts when its Secret is deleted", async () => {
  await using scene = new SimulatedWorld();
  const metadata = { namespace: "vaultsync-system", name: "vaultsync-content-key" };
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: { key: "c2hvcnQ=" },
  });
  start(scene, () => undefined);
  await scene.clock.advance(MINUTE);
  expect(scene.problems.text).toBe(
    "Secret vaultsync-system/vaultsync-content-key does not contain a key of 32 bytes: delete it; the operator recreates it",
  );
  scene.server.delete(SECRETS, metadata);
  await scene.clock.advance(MINUTE);
  expect(scene.value("shop", "db")).toBe("db@1");
});
