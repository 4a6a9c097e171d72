import { expect, test } from "vitest";
import { recordingLogger } from "../../../test/lab/assertions/recording-logger.ts";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { KubeError, type KubeErrorDetails } from "./kube-error.ts";
import { apiRemedies } from "../api-remedies.ts";
import { ApiProblems } from "./api-problems.ts";

const error = (details: Omit<KubeErrorDetails, "operation">): KubeError =>
  new KubeError({ operation: "list vaultsecrets", ...details });
const refused = error({ kind: "Unavailable", reason: "ECONNREFUSED" });

function scene(namespaced = false) {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const problems = new ApiProblems({
    clock,
    logger,
    host: "10.0.0.1:6443",
    remedies: apiRemedies(namespaced),
  });
  const watches = ["vaultconnections", "vaultsecrets", "vaultfiles", "vaultpushes", "secrets"].map(
    (resource) => ({ resource }),
  );
  const fail = (failure: unknown, some = watches): void => {
    for (const watch of some) problems.failed(watch, watch, failure);
  };
  return { clock, problems, watches, fail, lines };
}

test("all watches share one line, which is repeated every ten minutes while they fail", async () => {
  const { clock, fail, lines } = scene();
  for (let seconds = 0; seconds < 1_300; seconds += 5) {
    fail(refused);
    await clock.advance(5_000);
  }
  expect(lines.map(({ message }) => message)).toEqual(
    Array(3).fill("API server cannot be used, retrying"),
  );
  expect(lines[0]?.fields).toEqual({
    host: "10.0.0.1:6443",
    count: 5,
    reason:
      "nothing listens at the API server's address 10.0.0.1:6443 (ECONNREFUSED): check server in the kubeconfig",
  });
});

test("a failure that ends within two seconds is not logged, and the end of a longer one is", async () => {
  const { clock, problems, watches, fail, lines } = scene();
  fail(refused);
  for (const watch of watches) problems.recovered(watch);
  await clock.advance(5_000);
  expect(lines).toEqual([]);
  expect(problems.text).toBeUndefined();
  fail(refused);
  await clock.advance(5_000);
  for (const watch of watches) problems.recovered(watch);
  expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "error: API server cannot be used, retrying",
    "info: API server serves all requests again",
  ]);
});

test("a problem of another kind is logged, and the text is that which explains the others", async () => {
  const { clock, problems, watches, fail, lines } = scene();
  fail(refused);
  await clock.advance(5_000);
  fail(
    error({ kind: "Forbidden", explanation: 'User "x" cannot list resource "secrets"' }),
    watches.slice(4),
  );
  fail(error({ kind: "NotServed" }), watches.slice(0, 4));
  await clock.advance(5_000);
  expect(lines).toHaveLength(2);
  expect(problems.text).toBe(
    "the API server 10.0.0.1:6443 does not serve vaultconnections, vaultfiles, vaultpushes and 1 more: " +
      'install the CRDs with "kubectl apply -k crds"',
  );
});

test.each<[Omit<KubeErrorDetails, "operation">, string]>([
  [
    {
      kind: "Forbidden",
      explanation: 'User "x" cannot list resource "secrets" at the cluster scope',
    },
    'the API server 10.0.0.1:6443 denies access to secrets: User "x" cannot list resource "secrets" at the cluster scope. ' +
      "Apply deploy/chart/files/base/rbac.yaml, and run with its ServiceAccount",
  ],
  [
    { kind: "Unauthorized", explanation: "Unauthorized" },
    'the API server 10.0.0.1:6443 rejects the credentials ("Unauthorized"): renew the token or certificate in the kubeconfig',
  ],
  [
    { kind: "Unauthorized", reason: "CredentialsUnreadable" },
    "the credentials for the API server 10.0.0.1:6443 cannot be read: check the kubeconfig and its plugins",
  ],
  [
    { kind: "Timeout", reason: "Deadline" },
    "the API server 10.0.0.1:6443 does not respond in time: check the network and its load",
  ],
  [
    { kind: "Unavailable", reason: "SELF_SIGNED_CERT_IN_CHAIN" },
    "the certificate of the API server 10.0.0.1:6443 is not trusted (SELF_SIGNED_CERT_IN_CHAIN): check certificate-authority in the kubeconfig",
  ],
  [
    { kind: "Unavailable", reason: "ENOTFOUND" },
    "the host of the API server 10.0.0.1:6443 has no address (ENOTFOUND): check server in the kubeconfig",
  ],
  [
    { kind: "Unavailable", status: 503 },
    "the API server 10.0.0.1:6443 is not available: list vaultsecrets: Unavailable (503)",
  ],
  [
    { kind: "Unexpected" },
    "the API server 10.0.0.1:6443 cannot be used: list vaultsecrets: Unexpected",
  ],
])("the text for %j names the host and the remedy", (details, text) => {
  const { problems, watches, fail } = scene();
  fail(error(details), watches.slice(4));
  expect(problems.text).toBe(text);
});

const forbiddenIn = (namespace: string): KubeError =>
  error({
    kind: "Forbidden",
    explanation: `User "x" cannot list resource "secrets" in the namespace "${namespace}"`,
  });

test("denied namespaces have one line, repeated for another namespace and every ten minutes", async () => {
  const { clock, problems, lines } = scene(true);
  const deny = (...namespaces: string[]): void => {
    for (const namespace of namespaces)
      problems.failed(subjects[namespace]!, subjects[namespace]!, forbiddenIn(namespace));
  };
  const subjects: Record<string, { resource: string; namespace: string }> = {};
  for (const namespace of ["shop", "billing", "hr", "it"])
    subjects[namespace] = { resource: "secrets", namespace };
  for (let seconds = 0; seconds < 900; seconds += 5) {
    deny("shop");
    await clock.advance(5_000);
  }
  expect(lines.map(({ message }) => message)).toEqual(
    Array(2).fill("namespaces cannot be served, retrying"),
  );
  expect(lines[0]?.fields).toEqual({
    host: "10.0.0.1:6443",
    count: 1,
    reason:
      'the API server 10.0.0.1:6443 denies access to the namespace shop: User "x" cannot list resource "secrets" in the namespace "shop". ' +
      'Grant it with "kubectl apply -n shop -k deploy/namespaced/tenant", or remove it from the list of namespaces',
  });
  deny("billing", "hr", "it");
  await clock.advance(5_000);
  expect(lines).toHaveLength(3);
  expect(problems.text).toContain("denies access to the namespaces billing, hr, it and 1 more: ");
  expect(problems.text).toContain(
    'Grant each of them that exists with "kubectl apply -n NAMESPACE -k deploy/namespaced/tenant"',
  );
  for (const subject of Object.values(subjects)) problems.recovered(subject);
  expect(lines.at(-1)?.message).toBe("API server denies no namespace any more");
  expect(problems.text).toBeUndefined();
});

test("a denied namespace and an API server that fails are two lines and one text", async () => {
  const { clock, problems, fail, lines } = scene(true);
  problems.failed({}, { resource: "secrets", namespace: "shop" }, forbiddenIn("shop"));
  fail(refused);
  await clock.advance(5_000);
  expect(lines.map(({ message }) => message)).toEqual([
    "API server cannot be used, retrying",
    "namespaces cannot be served, retrying",
  ]);
  expect(problems.text).toMatch(
    /^nothing listens at .*; the API server 10\.0\.0\.1:6443 denies access to the namespace shop/u,
  );
});

test("an operator for some namespaces is not referred to the ClusterRole", () => {
  const { problems } = scene(true);
  problems.failed(
    {},
    { resource: "leases", ownNamespace: "sys" },
    error({ kind: "Forbidden", explanation: 'User "x" cannot list' }),
  );
  expect(problems.text).toBe(
    'list vaultsecrets: Forbidden: the API server 10.0.0.1:6443 denies access to leases: User "x" cannot list. ' +
      'Apply deploy/namespaced with "kubectl apply -k deploy/namespaced", and run with its ServiceAccount',
  );
});

test("the text quotes no error of a list that is none of the API server's", () => {
  const { problems, fail } = scene();
  fail(new Error("canary-value"));
  expect(problems.text).toBe("the API server 10.0.0.1:6443 cannot be used: unexpected response");
});
