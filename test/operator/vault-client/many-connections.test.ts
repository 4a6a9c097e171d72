import { expect, test } from "vitest";
import { busiestSecond } from "../../lab/busiest-second.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { observeConnection } from "../../lab/vault/vault-connection.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ListGate } from "../../../src/operator/vault-client/http/list-gate.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../../../src/operator/vault-client/http/vault-transport.ts";

const HOLDABLE = { etag: '"1"', "preference-applied": "wait" };

/**
 * A vault that always has the same list, and holds requests for it. Records the monotonic time of
 * each request.
 */
class StaticVault implements VaultTransport {
  readonly #clock: VirtualClock;
  readonly #at: number[];

  constructor(clock: VirtualClock, at: number[]) {
    this.#clock = clock;
    this.#at = at;
  }

  async request({
    operation,
    ifNoneMatch,
    waitSeconds,
    signal,
  }: VaultRequest): Promise<VaultResponse> {
    this.#at.push(this.#clock.monotonic());
    if (waitSeconds !== undefined) await this.#clock.sleep(waitSeconds * 1_000, signal);
    const headers: Readonly<Record<string, string>> = HOLDABLE;
    const body =
      operation === "list_no_dup"
        ? { secrets: [] }
        : { access_token: "canary", expires_in: 86_400 };
    return {
      status: ifNoneMatch === undefined ? 200 : 304,
      body: new TextEncoder().encode(JSON.stringify(body)),
      header: (name) => headers[name],
    };
  }

  updateCa(): void {}

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

test("a thousand connections are listed in a minute with at most 40 requests in any second", async () => {
  const clock = new VirtualClock();
  const at: number[] = [];
  const listGate = new ListGate(clock);
  const random = seededRandom(1);
  const connections = Array.from({ length: 1_000 }, (_, index) => {
    const transport = new StaticVault(clock, at);
    const email = `user-${index}@example.com`;
    return observeConnection({ url: "", transport, email, clock, listGate, random, follow: "Auto" })
      .connection;
  });
  // One login and one list of each.
  await clock.advance(60_000);
  expect(connections.filter(({ snapshot }) => snapshot !== undefined)).toHaveLength(1_000);
  await clock.advance(180_000);
  expect(busiestSecond(at)).toBeLessThanOrEqual(40);
  expect(connections.filter(({ health }) => health.state === "healthy")).toHaveLength(1_000);
});
