import { expect, onTestFinished, test } from "vitest";
import { json, LoopbackApiServer, refusal, type SeenRequest } from "../../../../test/support/kube/loopback-api-server.ts";
import { pump } from "../../../../test/support/clock/pump.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { KubeClient } from "../client/kube-client.ts";
import { Credentials } from "../credentials/credentials.ts";
import { acquireLease } from "./acquire-lease.ts";
import type { Leadership } from "./leadership.ts";

interface Spec {
  holderIdentity: string;
  leaseDurationSeconds: number;
  acquireTime: string;
  renewTime: string;
  leaseTransitions: number;
}

/** One Lease on a server that keeps it as an API server does, and fails on demand. */
class LeaseServer {
  readonly clock = new VirtualClock();
  readonly writes: Spec[] = [];
  spec: Spec | undefined;
  version = 1;
  /** Not applied; applied, but the answer says otherwise; never answered; answered after 4 s. */
  fault: "none" | "refuse" | "apply-and-refuse" | "hang" | "slow" = "none";
  readonly server: LoopbackApiServer;
  readonly api: KubeClient;

  private constructor(server: LoopbackApiServer) {
    this.server = server;
    const { clock } = this;
    this.api = new KubeClient({ credentials: new Credentials(server.source(), clock), clock, fieldManager: "vaultsync" });
    server.answer = async (request, response) => {
      if (this.fault === "slow") await clock.sleep(4_000);
      if (this.fault === "hang") return;
      if (this.fault === "refuse") return json(response, 503, {});
      const [status, body] = this.#serve(request);
      if (this.fault === "apply-and-refuse" && request.method !== "GET") json(response, 500, {});
      else json(response, status, body);
    };
    onTestFinished(async () => {
      await this.api[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });
  }

  static async start(spec?: Partial<Spec>): Promise<LeaseServer> {
    const lease = new LeaseServer(await LoopbackApiServer.start(() => undefined));
    const empty = { holderIdentity: "", leaseDurationSeconds: 15, acquireTime: "", renewTime: "", leaseTransitions: 3 };
    if (spec) lease.spec = { ...empty, ...spec };
    return lease;
  }

  /** Another process writes. */
  write(spec: Partial<Spec>): void {
    if (this.spec) Object.assign(this.spec, spec);
    this.version += 1;
  }

  async acquire(identity = "me"): Promise<Leadership> {
    const leadership = await pump(this.clock, this.begin(identity));
    onTestFinished(async () => {
      await pump(this.clock, leadership.release());
    });
    return leadership;
  }

  begin(identity: string, signal: AbortSignal = new AbortController().signal): Promise<Leadership> {
    const { api, clock } = this;
    return acquireLease({ api, namespace: "sys", name: "l", identity, clock, random: () => 0.5, logger: silentLogger }, signal);
  }

  /** Real requests go on between the steps. */
  async wait(ms: number): Promise<void> {
    const until = this.clock.monotonic() + ms;
    await pump(this.clock, () => this.clock.monotonic() >= until, 250);
  }

  #serve({ method, body }: SeenRequest): [number, object] {
    if (method === "GET") return this.spec ? [200, this.#object()] : [404, refusal(404, "NotFound")];
    const { metadata, spec }: { metadata: { resourceVersion?: string }; spec: Spec } = JSON.parse(body);
    if (method === "POST" && this.spec) return [409, refusal(409, "AlreadyExists")];
    if (method === "PUT" && metadata.resourceVersion !== String(this.version)) return [409, refusal(409, "Conflict")];
    this.version += 1;
    this.spec = spec;
    this.writes.push(spec);
    return [200, this.#object()];
  }

  #object(): object {
    return { metadata: { namespace: "sys", name: "l", resourceVersion: String(this.version) }, spec: this.spec };
  }
}

test("a Lease that is not there is created, with six digits of a second", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  expect(leadership.mayWrite()).toBe(true);
  expect(lease.writes[0]).toMatchObject({ holderIdentity: "me", leaseDurationSeconds: 15, leaseTransitions: 0 });
  expect(lease.writes[0]?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
});

test("a Lease that was given back is taken at once", async () => {
  const lease = await LeaseServer.start({ holderIdentity: "" });
  await lease.acquire();
  expect(lease.spec).toMatchObject({ holderIdentity: "me", leaseTransitions: 4 });
});

test("a Lease held by another is taken only after its whole duration without a renewal that we saw", async () => {
  // Its own time is years ago: the clocks of others are never believed.
  const lease = await LeaseServer.start({ holderIdentity: "other", renewTime: "2001-01-01T00:00:00.000000Z" });
  const begun = lease.clock.monotonic();
  await lease.acquire();
  expect(lease.clock.monotonic() - begun).toBeGreaterThanOrEqual(15_000);
});

test("as long as the other renews, it is not taken", async () => {
  const lease = await LeaseServer.start({ holderIdentity: "other" });
  const stop = new AbortController();
  const waiting = lease.begin("me", stop.signal);
  for (let n = 0; n < 8; n += 1) {
    await lease.wait(10_000);
    lease.write({ renewTime: "2001-01-01T00:00:00.000000Z" });
  }
  expect(lease.spec?.holderIdentity).toBe("other");
  stop.abort(new Error("stop"));
  await expect(waiting).rejects.toThrow("stop");
});

test("it is renewed for as long as it is held, and counts as one holding", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  await lease.wait(60_000);
  expect(lease.writes.length).toBeGreaterThan(20);
  expect(leadership.mayWrite()).toBe(true);
  expect(leadership.lost.aborted).toBe(false);
  expect(new Set(lease.writes.map(({ acquireTime, leaseTransitions }) => `${acquireTime} ${leaseTransitions}`)).size).toBe(1);
});

test.each(["refuse", "hang"] as const)(
  "a server that starts to %s: writing stops 10 s after the last renewal, before 15 s",
  async (fault) => {
    const lease = await LeaseServer.start();
    const leadership = await lease.acquire();
    lease.fault = fault;
    await lease.wait(7_500);
    expect(leadership.mayWrite()).toBe(true);
    await lease.wait(2_600);
    expect(leadership.mayWrite()).toBe(false);
    expect(leadership.lost.aborted).toBe(true);
    lease.fault = "none";
    await lease.wait(5_000);
    expect(leadership.mayWrite(), "lost stays lost").toBe(false);
  },
);

test("the time to write counts from when a renewal was sent, not from its answer", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const sent = lease.clock.monotonic() + 2_000;
  const writes = lease.writes.length;
  lease.fault = "slow";
  await pump(lease.clock, () => lease.writes.length > writes);
  lease.fault = "hang";
  expect(lease.clock.monotonic() - sent).toBeGreaterThan(3_000);
  await lease.wait(sent + 10_300 - lease.clock.monotonic());
  expect(leadership.mayWrite()).toBe(false);
});

test("a process that was stopped for longer than the deadline may not write, even before any timer has fired", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const now = lease.clock.monotonic();
  // SIGSTOP: the clock has gone on, and nothing else has run yet.
  lease.clock.monotonic = () => now + 11_000;
  expect(leadership.mayWrite()).toBe(false);
});

test("a short outage is survived", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "refuse";
  await lease.wait(6_000);
  lease.fault = "none";
  await lease.wait(20_000);
  expect(leadership.mayWrite()).toBe(true);
});

test("a renewal that happened but was reported as failed is found to be ours", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "apply-and-refuse";
  await lease.wait(3_000);
  lease.fault = "none";
  await lease.wait(20_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(lease.spec?.holderIdentity).toBe("me");
});

test.each<[string, (lease: LeaseServer) => void]>([
  ["taken by another", (lease) => lease.write({ holderIdentity: "other" })],
  [
    "deleted",
    (lease) => {
      lease.spec = undefined;
      lease.version += 1;
    },
  ],
])("a Lease that was %s is lost at the next renewal", async (_, take) => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  take(lease);
  await lease.wait(4_000);
  expect(leadership.lost.aborted).toBe(true);
  expect(leadership.mayWrite()).toBe(false);
});

test("released, it is free at once, is not lost, and leaves no timer", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const released = leadership.release();
  expect(leadership.mayWrite(), "from the first moment on").toBe(false);
  await pump(lease.clock, released);
  expect(lease.spec?.holderIdentity).toBe("");
  expect(leadership.lost.aborted).toBe(false);
  expect(lease.clock.pending).toBe(0);
  const begun = lease.clock.monotonic();
  await lease.acquire("next");
  expect(lease.clock.monotonic() - begun).toBeLessThan(2_000);
});

test("a server that cannot be told of the release does not hold it up", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "hang";
  const begun = lease.clock.monotonic();
  await pump(lease.clock, leadership.release());
  expect(lease.clock.monotonic() - begun).toBeLessThan(3_000);
});

test("of two candidates exactly one leads at any time, and the other follows", async () => {
  const lease = await LeaseServer.start();
  const both = [lease.begin("one"), lease.begin("two")];
  const first = await pump(lease.clock, Promise.race(both));
  await lease.wait(30_000);
  const holder = lease.spec?.holderIdentity;
  await pump(lease.clock, first.release());
  const leaderships = await pump(lease.clock, Promise.all(both));
  const second = leaderships.find((each) => each !== first);
  expect(new Set([holder, lease.spec?.holderIdentity])).toEqual(new Set(["one", "two"]));
  expect([first.mayWrite(), second?.mayWrite()]).toEqual([false, true]);
  await pump(lease.clock, second!.release());
});
