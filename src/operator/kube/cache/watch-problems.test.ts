import { expect, test } from "vitest";
import { recordingLogger } from "../../../../test/support/assertions/recording-logger.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { KubeError, type KubeErrorDetails } from "../kube-error.ts";
import { WatchProblems } from "./watch-problems.ts";

const error = (details: Omit<KubeErrorDetails, "operation">): KubeError =>
  new KubeError({ operation: "list vaultsecrets", ...details });
const refused = error({ kind: "Unavailable", reason: "ECONNREFUSED" });

function scene() {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const problems = new WatchProblems({ clock, logger, host: "10.0.0.1:6443" });
  const watches = ["vaultconnections", "vaultsecrets", "vaultfiles", "vaultpushes", "secrets"].map((resource) => ({ resource }));
  const fail = (failure: unknown, some = watches): void => {
    for (const watch of some) problems.failed(watch, watch.resource, failure);
  };
  return { clock, problems, watches, fail, lines };
}

test("all watches share one line, which is repeated every ten minutes while they fail", async () => {
  const { clock, fail, lines } = scene();
  for (let seconds = 0; seconds < 1_300; seconds += 5) {
    fail(refused);
    await clock.advance(5_000);
  }
  expect(lines.map(({ message }) => message)).toEqual(Array(3).fill("API server cannot be used, retrying"));
  expect(lines[0]?.fields).toEqual({
    host: "10.0.0.1:6443",
    count: 5,
    reason: "nothing listens at the API server's address 10.0.0.1:6443 (ECONNREFUSED): check server in the kubeconfig",
  });
});

test("a failure that ends within two seconds is not logged, and the end of a longer one is", async () => {
  const { clock, problems, watches, fail, lines } = scene();
  fail(refused);
  for (const watch of watches) problems.recovered(watch);
  await clock.advance(5_000);
  expect([lines, problems.text]).toEqual([[], undefined]);
  fail(refused);
  await clock.advance(5_000);
  for (const watch of watches) problems.recovered(watch);
  expect(lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "error: API server cannot be used, retrying",
    "info: API server serves all lists and watches again",
  ]);
});

test("a problem of another kind is logged, and the text is that which explains the others", async () => {
  const { clock, problems, watches, fail, lines } = scene();
  fail(refused);
  await clock.advance(5_000);
  fail(error({ kind: "Forbidden", explanation: 'User "x" cannot list resource "secrets"' }), watches.slice(4));
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
    { kind: "Forbidden", explanation: 'User "x" cannot list resource "secrets" at the cluster scope' },
    'the API server 10.0.0.1:6443 denies lists of secrets: User "x" cannot list resource "secrets" at the cluster scope. ' +
      "Apply deploy/base/rbac.yaml, and run with its ServiceAccount",
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
  [{ kind: "Unavailable", status: 503 }, "the API server 10.0.0.1:6443 is not available: list vaultsecrets: Unavailable (503)"],
  [{ kind: "Unexpected" }, "the API server 10.0.0.1:6443 cannot be used: list vaultsecrets: Unexpected"],
])("the text for %j names the host and the remedy", (details, text) => {
  const { problems, watches, fail } = scene();
  fail(error(details), watches.slice(4));
  expect(problems.text).toBe(text);
});
