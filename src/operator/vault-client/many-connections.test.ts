import { expect, onTestFinished, test } from "vitest";
import { observeConnection } from "../../../test/support/vault/vault-connection.ts";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { ListGate } from "./http/list-gate.ts";
import type { VaultRequest, VaultResponse, VaultTransport } from "./http/vault-transport.ts";

const HOLDABLE = { etag: '"1"' };

/** A vault that always has the same list. Records the monotonic time of each request. */
class StaticVault implements VaultTransport {
  readonly #clock: VirtualClock;
  readonly #at: number[];

  constructor(clock: VirtualClock, at: number[]) {
    this.#clock = clock;
    this.#at = at;
  }

  request({ operation, ifNoneMatch }: VaultRequest): Promise<VaultResponse> {
    this.#at.push(this.#clock.monotonic());
    const headers: Readonly<Record<string, string>> = HOLDABLE;
    const body = operation === "list_no_dup" ? { secrets: [] } : { access_token: "canary", expires_in: 86_400 };
    return Promise.resolve({
      status: ifNoneMatch === undefined ? 200 : 304,
      body: new TextEncoder().encode(JSON.stringify(body)),
      header: (name) => headers[name],
    });
  }

  updateCa(): void {}

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

test("a thousand connections opened together send at most 40 requests in any second", async () => {
  const clock = new VirtualClock();
  const at: number[] = [];
  const listGate = new ListGate(clock);
  let seed = 1;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const connections = Array.from({ length: 1_000 }, (_, index) => {
    const transport = new StaticVault(clock, at);
    const email = `user-${index}@example.com`;
    return observeConnection({ url: "", transport, email, clock, listGate, random, follow: "Auto" }).connection;
  });
  onTestFinished(() => expect(connections).toHaveLength(1_000));
  await clock.advance(240_000);
  const perSecond = new Map<number, number>();
  for (const time of at) perSecond.set(Math.floor(time / 1_000), (perSecond.get(Math.floor(time / 1_000)) ?? 0) + 1);
  expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(40);
  expect(connections.filter(({ health }) => health.state === "healthy")).toHaveLength(1_000);
});
