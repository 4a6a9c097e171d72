import { describe, expect, test } from "vitest";
import { InMemoryConnection } from "../../../test/lab/vault/in-memory-connection.ts";
import {
  ignoredCallbacks,
  noRemovals,
  testFacts,
} from "../../../test/lab/vault/open-connection.ts";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import type { Reason } from "../api/reasons.ts";
import { connectionStatus, type ConnectionStatus } from "../api/vault-connection.ts";
import {
  AuthError,
  CredentialsError,
  PermanentError,
  RateLimitedError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
} from "../vault-client/vault-error.ts";
import { explainFailure } from "./connection-problem.ts";
import { nextConnectionStatus } from "./connection-status.ts";

type State = Parameters<typeof nextConnectionStatus>[1];

const NOW = Date.UTC(2026, 10, 21, 12);
const TIMESTAMP = "2026-11-21T12:00:00.000Z";
const facts = {
  problem: undefined as string | undefined,
  generation: 3,
  users: 2,
  openMs: 0,
  now: NOW,
};

const connectionOf = (): InMemoryConnection =>
  new InMemoryConnection(new VirtualClock(), ignoredCallbacks);

function healthy(): InMemoryConnection {
  const connection = connectionOf();
  connection.list({ secretCount: 5, fileCount: 1 });
  connection.token = {
    expiresAt: NOW + 3_600_000,
    refreshedAt: NOW - 60_000,
    scope: { text: "cloud_type:aws" },
  };
  return connection;
}

function failing(error: Error): InMemoryConnection {
  const connection = healthy();
  connection.setHealth("failing", error);
  return connection;
}

const open = (
  connection: InMemoryConnection,
  staleSince?: number,
  reason: Reason = "VaultUnreachable",
): State => ({
  state: "open",
  connection,
  facts: testFacts,
  stale: staleSince === undefined ? undefined : { since: staleSince, reason },
  removals: noRemovals,
});

/** Returns the state of a healthy connection with these removals. */
const withRemovals = (removals: Partial<typeof noRemovals>): State => {
  return { ...open(healthy()), removals: { ...noRemovals, ...removals } } as State;
};

/** Returns the status as the next reconcile parses it. */
function next(
  before: ConnectionStatus,
  view: State,
  changes: Partial<typeof facts> = {},
): ConnectionStatus {
  return connectionStatus.parse(
    JSON.parse(JSON.stringify(nextConnectionStatus(before, view, { ...facts, ...changes }))),
  );
}
const types = ({ conditions = [] }: ConnectionStatus): string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test("nextConnectionStatus reports token and counts of a healthy connection", () => {
  expect(nextConnectionStatus({}, open(healthy()), facts)).toStrictEqual({
    observedGeneration: 3,
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "Synced",
        message: "logged in; the vault's list is up to date",
        observedGeneration: 3,
        lastTransitionTime: TIMESTAMP,
      },
    ],
    token: {
      expiresAt: "2026-11-21T13:00:00.000Z",
      refreshedAt: "2026-11-21T11:59:00.000Z",
      scope: "cloud_type:aws",
    },
    secrets: 5,
    files: 1,
    users: 2,
  });
});

test("nextConnectionStatus reports Ready=Unknown for a starting connection", () => {
  expect(types(next({}, open(connectionOf())))).toEqual(["Ready=Unknown Progressing"]);
});

describe("nextConnectionStatus for a failing connection", () => {
  test.each<[Error | undefined, string, boolean]>([
    [new TransientError("list_no_dup", "unreachable"), "VaultUnreachable", false],
    [new RateLimitedError("list_no_dup", 5_000), "RateLimited", false],
    [new AuthError("generate_access_token", "credentials"), "AuthFailed", true],
    [new CredentialsError("Secret login not found"), "AuthFailed", true],
    [new UnexpectedResponse("list_no_dup", "secrets"), "UnexpectedResponse", false],
    [
      new TransientError("generate_access_token", "credentials_not_read", { detail: "Timeout" }),
      "Progressing",
      false,
    ],
    [new RefusedError("list_no_dup", "insecure"), "InvalidSpec", true],
    [new RefusedError("list_no_dup", "ca"), "InvalidCaBundle", true],
    [new RefusedError("list_no_dup", "tls", "CERT_HAS_EXPIRED"), "VaultUnreachable", false],
    [new PermanentError("generate_access_token", "invalid_scope"), "InvalidSpec", true],
    [new PermanentError("list_no_dup", "not_found"), "UnexpectedResponse", false],
    [new Error("anything else"), "VaultUnreachable", false],
    [undefined, "VaultUnreachable", false],
  ])("maps %s to %s", (error, reason, stalled) => {
    const connection = healthy();
    connection.setHealth("failing", error);
    const status = next({}, open(connection));
    expect(types(status)).toEqual([
      `Ready=False ${reason}`,
      ...(stalled ? [`Stalled=True ${reason}`] : []),
    ]);
    expect(status.conditions?.[0]?.message.startsWith(explainFailure(error, testFacts))).toBe(true);
  });

  test.each<[Error, string]>([
    [
      new TransientError("list_no_dup", "unreachable"),
      ". The operator tries again, at least every 5 minutes",
    ],
    [new RateLimitedError("list_no_dup", 5_000), ". The next attempt is when the vault allows it"],
    [
      new RefusedError("list_no_dup", "insecure"),
      "start the operator with --allow-http for development",
    ],
  ])(
    "%s: the message says when the next attempt is, with no time that each attempt would change",
    (error, end) => {
      expect(next({}, open(failing(error))).conditions?.[0]?.message.endsWith(end)).toBe(true);
    },
  );

  test("keeps the counts of the last list", () => {
    const before = next({}, open(healthy()));
    expect(next(before, open(failing(new TransientError("list_no_dup", "timeout"))))).toMatchObject(
      { secrets: 5, files: 1 },
    );
    expect(next(before, open(connectionOf()))).toMatchObject({ secrets: 5, files: 1 });
  });
});

test("nextConnectionStatus reports InvalidSpec without a token for an invalid spec", () => {
  const status = next(next({}, open(healthy())), {
    state: "invalid",
    message: "spec.url: write it",
  });
  expect(types(status)).toEqual(["Ready=False InvalidSpec", "Stalled=True InvalidSpec"]);
  expect(status.conditions?.map(({ message }) => message)).toEqual([
    "spec.url: write it",
    "spec.url: write it",
  ]);
  expect(status).not.toHaveProperty("token");
  expect(status).toMatchObject({ secrets: 5, users: 2 });
});

test("nextConnectionStatus sets Stale with the time of the last response", () => {
  const status = next(
    {},
    open(failing(new TransientError("list_no_dup", "timeout")), NOW - 600_000),
  );
  expect(types(status)).toEqual(["Ready=False VaultUnreachable", "Stale=True VaultUnreachable"]);
  expect(status.conditions?.at(-1)?.message).toContain("2026-11-21T11:50:00.000Z");
  expect(types(next(status, open(healthy())))).toEqual(["Ready=True Synced"]);
});

test("nextConnectionStatus omits the number of files if they are not listed", () => {
  const before = next({}, open(healthy()));
  const connection = healthy();
  connection.list({ secretCount: 5 });
  expect(next(before, open(connection))).not.toHaveProperty("files");
});

test("nextConnectionStatus limits the expiry of a token to the year 9999", () => {
  const connection = healthy();
  connection.token = { expiresAt: 1e300, refreshedAt: NOW, scope: undefined };
  expect(next({}, open(connection)).token?.expiresAt).toBe("9999-12-31T00:00:00.000Z");
});

describe("nextConnectionStatus changes only with its input", () => {
  const views: [string, State][] = [
    ["healthy", open(healthy())],
    ["starting", open(connectionOf())],
    [
      "failing",
      open(failing(new AuthError("generate_access_token", "credentials")), NOW - 600_000),
    ],
    ["invalid", { state: "invalid", message: "spec.url: no" }],
  ];

  test.each(views)("%s: the same input returns an equal status at any time", (_, view) => {
    for (const [, earlier] of views) {
      const first = next(next({}, earlier, { now: NOW - 86_400_000 }), view);
      expect(nextConnectionStatus(first, view, { ...facts, now: NOW + 3_600_000 })).toStrictEqual(
        first,
      );
    }
  });

  test("lastTransitionTime is the time of the last change of Ready", () => {
    const first = next({}, open(healthy()), { now: NOW - 86_400_000 });
    const second = next(first, open(failing(new TransientError("list_no_dup", "timeout"))));
    expect(second.conditions?.[0]?.lastTransitionTime).toBe(TIMESTAMP);
    const third = next(second, open(failing(new AuthError("list_no_dup", "token"))), {
      now: NOW + 1,
    });
    expect(third.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([
      TIMESTAMP,
      "2026-11-21T12:00:00.001Z",
    ]);
  });

  test("a change of users or generation changes the status", () => {
    const first = next({}, open(healthy()));
    expect(next(first, open(healthy()), { users: 0 }).users).toBe(0);
    expect(next(first, open(healthy()), { generation: 4 })).toMatchObject({
      observedGeneration: 4,
    });
  });
});

test("nextConnectionStatus shows a pause of the login and the rejected version", () => {
  const connection = failing(new AuthError("generate_access_token", "credentials", 60_000));
  connection.loginPause = { until: NOW + 60_000, credentials: "7" };
  const status = next({}, open(connection));
  expect(status).toMatchObject({
    loginPausedUntil: "2026-11-21T12:01:00.000Z",
    rejectedCredentials: "7",
  });
  expect(status.conditions?.[0]?.message).toMatch(
    /The next login is at 2026-11-21T12:01:00\.000Z, or immediately after/u,
  );
  // The same pause is no change, although less of it is left.
  expect(next(status, open(connection), { now: NOW + 30_000 })).toEqual(status);
});

test("nextConnectionStatus reports a problem of the spec although the connection works", () => {
  const status = next({}, open(healthy()), { problem: "spec.caBundleRef: ConfigMap ca not found" });
  expect(types(status)).toEqual(["Ready=False InvalidCaBundle", "Stalled=True InvalidCaBundle"]);
  expect(types(next(status, open(healthy())))).toEqual(["Ready=True Synced"]);
});

test("nextConnectionStatus limits the scope to whole entries of at most 1,024 characters", () => {
  const connection = healthy();
  const names = Array.from({ length: 500 }, (_, index) => `secret_name:name-${index}`);
  connection.token = { expiresAt: NOW, refreshedAt: NOW, scope: { text: names.join(",") } };
  const scope = next({}, open(connection)).token?.scope ?? "";
  expect(scope.length).toBeLessThanOrEqual(1_026);
  expect(scope.endsWith(",…")).toBe(true);
  expect(names).toContain(scope.slice(0, -2).split(",").at(-1));
});

test("nextConnectionStatus omits the scope of a stored token, which is not known", () => {
  const connection = healthy();
  connection.token = { expiresAt: NOW, refreshedAt: NOW, scope: undefined };
  expect(next({}, open(connection)).token).toEqual({
    expiresAt: TIMESTAMP,
    refreshedAt: TIMESTAMP,
  });
});

describe("nextConnectionStatus of a connection that holds removals", () => {
  const before = next({}, withRemovals({ held: 4 }));

  test("names their number", () => {
    expect(types(before)).toEqual(["Ready=True Synced", "RemovalsHeld=True RemovalsHeld"]);
    expect(before.conditions?.[1]?.message).toContain(
      "set the annotation vaultsync.dev/confirm-removals=4",
    );
  });

  test("keeps the condition until the lists of a new client say whether it continues", () => {
    expect(next(before, withRemovals({ isResuming: true }))).toEqual(before);
    expect(types(next(before, withRemovals({})))).toEqual(["Ready=True Synced"]);
    const fewer = next(before, withRemovals({ isResuming: true, held: 1 })).conditions ?? [];
    expect(fewer.map(({ type }) => type)).toEqual(["Ready", "RemovalsHeld"]);
    expect(fewer[1]?.message).toContain("confirm-removals=1");
  });

  test("keeps the condition while the connection cannot be opened", () => {
    const invalid = next(before, { state: "invalid", message: "spec.url: no" });
    expect(types(invalid)).toEqual([
      "Ready=False InvalidSpec",
      "Stalled=True InvalidSpec",
      "RemovalsHeld=True RemovalsHeld",
    ]);
  });
});
