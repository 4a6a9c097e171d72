import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";

import { ignoredCallbacks } from "../../../test/lab/vault/open-connection.ts";
import { InMemoryConnection } from "../../../test/lab/vault/in-memory-connection.ts";
import type { ConnectionStatus } from "../api/vault-connection.ts";
import { CredentialsError, MissingCredentialsError } from "../vault-client/vault-error.ts";
import { credentialsDueInMs } from "./credentials-wait.ts";

const missing = new MissingCredentialsError("Secret login not found");

function dueInMs(
  before: ConnectionStatus,
  { error = missing, openMs = 60_000, listed = false }: Partial<Changes> = {},
): number | undefined {
  const connection = new InMemoryConnection(new VirtualClock(), ignoredCallbacks);
  if (listed) connection.list({});
  connection.setHealth("failing", error);
  return credentialsDueInMs(before, { connection, generation: 2, openMs });
}

interface Changes {
  readonly error: Error;
  readonly openMs: number;
  readonly listed: boolean;
}

const condition = (
  type: "Ready" | "Stalled",
  status: "True" | "False",
  observedGeneration = 2,
) => ({
  type,
  status,
  reason: "CredentialsMissing",
  message: "",
  observedGeneration,
  lastTransitionTime: "2026-11-21T12:00:00.000Z",
});
const stalled = (generation: number): ConnectionStatus => ({
  conditions: [condition("Ready", "False", generation), condition("Stalled", "True", generation)],
});

describe("a connection whose credentials do not exist", () => {
  test.each<[string, ConnectionStatus, Partial<Changes>, number]>([
    ["has four minutes left after one", {}, {}, 240_000],
    ["is Stalled after five minutes", {}, { openMs: 300_000 }, 0],
    ["is Stalled if it listed before: they were deleted", {}, { listed: true }, 0],
    ["is Stalled if its status shows that", stalled(2), {}, 0],
    ["waits again after a change of its spec", stalled(1), {}, 240_000],
    ["is Stalled if it was Ready", { conditions: [condition("Ready", "True")] }, {}, 0],
    [
      "waits if another spec was Ready",
      { conditions: [condition("Ready", "True", 1)] },
      {},
      240_000,
    ],
    ["waits if it failed before", { conditions: [condition("Ready", "False")] }, {}, 240_000],
  ])("%s", (_, before, changes, expected) => {
    expect(dueInMs(before, changes)).toBe(expected);
  });
});

test("a connection with unusable credentials waits for none", () => {
  expect(dueInMs({}, { error: new CredentialsError("Secret login has the wrong type") })).toBe(
    undefined,
  );
});
