import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import {
  AuthError,
  PermanentError,
  RefusedError,
  TransientError,
  UnexpectedResponse,
} from "../vault-error.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";

const broken = new TransientError("list_no_dup", "server_error", { status: 500 });

class World {
  readonly clock = new VirtualClock();
  readonly changes: boolean[] = [];
  readonly breaker = new CircuitBreaker({
    clock: this.clock,
    untilProbe: () => 3_000,
    onChange: (open) => this.changes.push(open),
  });

  fail(operation: Operation, error: unknown, times = 1): void {
    for (let time = 0; time < times; time += 1) this.breaker.failed(operation, error);
  }

  /** Returns the error with which a request of this operation is rejected now, if it is. */
  rejection(operation: Operation): unknown {
    try {
      this.breaker.admit(operation);
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

test("opens after five failed lists in a row; then only lists and their logins are sent", () => {
  const world = new World();
  world.fail("list_no_dup", broken, 4);
  expect(world.changes).toEqual([]);
  expect(world.rejection("expose")).toBeUndefined();
  world.fail("list_no_dup", broken, 10);
  expect(world.changes).toEqual([true]);
  for (const operation of [
    "expose",
    "version_expose_link",
    "download_file",
    "list_file",
  ] as const) {
    expect(world.rejection(operation)).toMatchObject({
      code: "circuit_open",
      retryAfterMs: 3_000,
      operation,
    });
  }
  for (const operation of [
    "list_no_dup",
    "generate_access_token",
    "exchange_identity_token",
    "refresh_token",
  ] as const) {
    expect(world.rejection(operation)).toBeUndefined();
  }
});

test.each<[string, Operation, TransientError, boolean]>([
  ["a list that times out", "list_no_dup", new TransientError("list_no_dup", "timeout"), true],
  [
    "a login that is reset",
    "generate_access_token",
    new TransientError("generate_access_token", "reset"),
    true,
  ],
  [
    "a refresh with status 503",
    "refresh_token",
    new TransientError("refresh_token", "server_error", { status: 503 }),
    true,
  ],
  [
    "a host that an expose cannot reach",
    "expose",
    new TransientError("expose", "unreachable"),
    true,
  ],
  [
    "an expose with status 500",
    "expose",
    new TransientError("expose", "server_error", { status: 500 }),
    false,
  ],
  [
    "an expose that times out",
    "version_expose",
    new TransientError("version_expose", "timeout"),
    false,
  ],
  [
    "a download that is reset",
    "download_file",
    new TransientError("download_file", "reset"),
    false,
  ],
  [
    "a list of files with status 500",
    "list_file",
    new TransientError("list_file", "server_error", { status: 500 }),
    false,
  ],
])("%s, a hundred times, opens it: %4$s", (_, operation, error, opens) => {
  const world = new World();
  world.fail(operation, error, 100);
  expect(world.changes).toEqual(opens ? [true] : []);
});

test.each<[string, (world: World) => void, boolean]>([
  ["a successful list", (world) => world.breaker.succeeded("list_no_dup"), true],
  [
    "a list that cannot be read",
    (world) => world.fail("list_no_dup", new UnexpectedResponse("list_no_dup", "secrets")),
    true,
  ],
  [
    "a rejected token",
    (world) => world.fail("list_no_dup", new AuthError("list_no_dup", "token")),
    true,
  ],
  [
    "a rejected login",
    (world) =>
      world.fail("generate_access_token", new AuthError("generate_access_token", "credentials")),
    true,
  ],
  ["a successful login", (world) => world.breaker.succeeded("generate_access_token"), false],
  ["a successful expose", (world) => world.breaker.succeeded("expose"), false],
  [
    "an entry that does not exist",
    (world) => world.fail("expose", new PermanentError("expose", "secret_not_found")),
    false,
  ],
  [
    "an unverified certificate",
    (world) => world.fail("list_no_dup", new RefusedError("list_no_dup", "tls")),
    false,
  ],
  [
    "an aborted list",
    (world) => world.fail("list_no_dup", new DOMException("aborted", "AbortError")),
    false,
  ],
])("%s closes it and resets the count: %3$s", (_, event, closes) => {
  const world = new World();
  world.fail("list_no_dup", broken, 4);
  event(world);
  world.fail("list_no_dup", broken);
  expect(world.changes).toEqual(closes ? [] : [true]);
  world.fail("list_no_dup", broken, 4);
  event(world);
  expect(world.changes).toEqual(closes ? [true, false] : [true]);
  expect(world.rejection("expose") === undefined).toBe(closes);
});

test("retry-after of a list applies to the connection, that of an expose to its entry", async () => {
  const world = new World();
  const later = { status: 503, retryAfterMs: 60_000 };
  world.fail("expose", new TransientError("expose", "server_error", later));
  expect(world.rejection("expose")).toBeUndefined();
  world.fail("list_no_dup", new TransientError("list_no_dup", "server_error", later));
  await world.clock.advance(20_000);
  expect(world.rejection("expose")).toMatchObject({ code: "circuit_open", retryAfterMs: 40_000 });
  expect(world.rejection("list_no_dup")).toMatchObject({
    code: "circuit_open",
    retryAfterMs: 40_000,
  });
  await world.clock.advance(40_000);
  expect(world.rejection("expose")).toBeUndefined();
});
