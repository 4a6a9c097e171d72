import { expect, test } from "vitest";
import type { EventRecord } from "../../kube/event-recorder.ts";
import { recordCircuitEvent } from "./record-connection-events.ts";

test("an event about a ClusterVaultConnection has no namespace", () => {
  const recorded: EventRecord[] = [];
  const metadata = { name: "corporate", uid: "uid-1" };
  const object = { apiVersion: "vaultsync.dev/v1alpha1", kind: "ClusterVaultConnection", metadata };
  recordCircuitEvent({ record: (event) => recorded.push(event) }, object, true);
  expect(recorded).toMatchObject([
    { resource: { kind: "ClusterVaultConnection" }, namespace: "", name: "corporate" },
  ]);
});

test("an open circuit breaker is a warning about the VaultConnection, a closed one is not", () => {
  const recorded: EventRecord[] = [];
  const object = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    metadata: { name: "vault", namespace: "shop", uid: "uid-1" },
  };
  for (const open of [true, false])
    recordCircuitEvent({ record: (event) => recorded.push(event) }, object, open);
  const regarding = {
    namespace: "shop",
    name: "vault",
    uid: "uid-1",
    resource: { kind: "VaultConnection" },
  };
  const opened =
    "several requests in a row failed: only the list is tried, with backoff; see the condition Ready";
  expect(recorded).toMatchObject([
    { ...regarding, type: "Warning", reason: "CircuitBreakerOpened", action: "List", note: opened },
    {
      ...regarding,
      type: "Normal",
      reason: "CircuitBreakerClosed",
      action: "List",
      note: "the vault responds again",
    },
  ]);
});
