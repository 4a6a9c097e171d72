import { expect, test } from "vitest";
import { recordingLogger } from "../../../../test/support/assertions/recording-logger.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { KubeError, type KubeErrorDetails } from "../kube-error.ts";
import { LeaseFailures } from "./lease-failures.ts";

const denied: Omit<KubeErrorDetails, "operation"> = {
  kind: "Forbidden",
  explanation: 'User "x" cannot list resource "leases" in the namespace "sys"',
};

function scene() {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const failures = new LeaseFailures({ clock, logger, namespace: "sys" });
  const fail = (details: Omit<KubeErrorDetails, "operation">): void =>
    failures.report("vaultsync", new KubeError({ operation: "list leases", ...details }));
  return { clock, lines, failures, fail };
}

test("a Lease that cannot be taken for twenty minutes is logged every ten minutes", async () => {
  const { clock, lines, fail } = scene();
  for (let seconds = 0; seconds <= 1_200; seconds += 2) {
    fail(denied);
    await clock.advance(2_000);
  }
  expect(lines.map(({ level, fields }) => `${level} ${String(fields["lease"])}`)).toEqual(Array(3).fill("error vaultsync"));
});

test("another failure is logged immediately, and a lost race never", () => {
  const { lines, failures, fail } = scene();
  fail({ kind: "Conflict" });
  fail({ kind: "NotFound" });
  fail(denied);
  fail({ kind: "Unavailable", reason: "ECONNREFUSED" });
  failures.report("vaultsync", new Error("deadline"));
  expect(lines.map(({ fields }) => fields["reason"])).toEqual([
    'the lease\'s namespace sys does not exist; create it with "kubectl create namespace sys"',
    'User "x" cannot list resource "leases" in the namespace "sys"; apply deploy/base/rbac.yaml, and run with its ServiceAccount',
    "list leases: Unavailable (ECONNREFUSED)",
    "no response of the API server in time",
  ]);
});
