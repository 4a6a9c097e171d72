import { accessTo } from "../../../../test/lab/kube/connected-client.ts";
import { expect, onTestFinished, test } from "vitest";
import {
  json,
  LoopbackServer,
  failureStatus,
  type SeenRequest,
} from "../../../../test/lab/loopback-server.ts";
import { pump, VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
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

/** A loopback API server with one Lease. Requests fail on demand. */
class LeaseServer {
  readonly clock = new VirtualClock();
  readonly writes: Spec[] = [];
  spec: Spec | undefined;
  version = 1;
  /**
   * The write fails; is applied but reported as failed; gets no response; gets a response after 4
   * s.
   */
  fault: "none" | "fail" | "apply-and-fail" | "hang" | "slow" = "none";
  readonly server: LoopbackServer;
  readonly api: KubeClient;

  private constructor(server: LoopbackServer) {
    this.server = server;
    const { clock } = this;
    this.api = new KubeClient({
      credentials: new Credentials(accessTo(server), clock),
      clock,
      fieldManager: "vaultsync",
    });
    server.handler = async (request, response) => {
      if (this.fault === "slow") await clock.sleep(4_000);
      if (this.fault === "hang") return;
      if (this.fault === "fail") return json(response, 503, {});
      const [status, body] = this.#serve(request);
      if (this.fault === "apply-and-fail" && request.method !== "GET") json(response, 500, {});
      else json(response, status, body);
    };
    onTestFinished(async () => {
      await this.api[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });
  }

  static async start(spec?: Partial<Spec>): Promise<LeaseServer> {
    const lease = new LeaseServer(await LoopbackServer.start(() => undefined));
    const empty = {
      holderIdentity: "",
      leaseDurationSeconds: 15,
      acquireTime: "",
      renewTime: "",
      leaseTransitions: 3,
    };
    if (spec) lease.spec = { ...empty, ...spec };
    return lease;
  }

  /** Writes the Lease as another process. */
  write(spec: Partial<Spec>): void {
    if (this.spec) Object.assign(this.spec, spec);
    this.version += 1;
  }

  async acquire(identity = "me"): Promise<Leadership> {
    const leadership = await pump(this.clock, this.startAcquiring(identity));
    onTestFinished(async () => {
      await pump(this.clock, leadership.release());
    });
    return leadership;
  }

  startAcquiring(
    identity: string,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Leadership> {
    const { api, clock } = this;
    return acquireLease(
      {
        api,
        namespace: "sys",
        name: "l",
        identity,
        clock,
        random: () => 0.5,
        logger: silentLogger,
      },
      signal,
    );
  }

  /** Advances the clock in steps, with real requests between them. */
  async wait(ms: number): Promise<void> {
    const until = this.clock.monotonic() + ms;
    await pump(this.clock, () => this.clock.monotonic() >= until, 250);
  }

  #serve({ method, body }: SeenRequest): [number, object] {
    if (method === "GET")
      return this.spec ? [200, this.#object()] : [404, failureStatus(404, "NotFound")];
    const { metadata, spec }: { metadata: { resourceVersion?: string }; spec: Spec } =
      JSON.parse(body);
    if (method === "POST" && this.spec) return [409, failureStatus(409, "AlreadyExists")];
    if (method === "PUT" && metadata.resourceVersion !== String(this.version))
      return [409, failureStatus(409, "Conflict")];
    this.version += 1;
    this.spec = spec;
    this.writes.push(spec);
    return [200, this.#object()];
  }

  #object(): object {
    return {
      metadata: { namespace: "sys", name: "l", resourceVersion: String(this.version) },
      spec: this.spec,
    };
  }
}

test("a missing Lease is created, with timestamps of six fraction digits", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  expect(leadership.mayWrite()).toBe(true);
  expect(lease.writes[0]).toMatchObject({
    holderIdentity: "me",
    leaseDurationSeconds: 15,
    leaseTransitions: 0,
  });
  expect(lease.writes[0]?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
});

test("a released Lease is taken immediately", async () => {
  const lease = await LeaseServer.start({ holderIdentity: "" });
  await lease.acquire();
  expect(lease.spec).toMatchObject({ holderIdentity: "me", leaseTransitions: 4 });
});

test("a Lease held by another process is taken only after its duration without a renewal", async () => {
  // The written renewTime is years ago: the holder's clock is never trusted.
  const lease = await LeaseServer.start({
    holderIdentity: "other",
    renewTime: "2001-01-01T00:00:00.000000Z",
  });
  const startedAt = lease.clock.monotonic();
  await lease.acquire();
  expect(lease.clock.monotonic() - startedAt).toBeGreaterThanOrEqual(15_000);
});

test("a Lease that its holder renews is not taken", async () => {
  const lease = await LeaseServer.start({ holderIdentity: "other" });
  const stop = new AbortController();
  const waiting = lease.startAcquiring("me", stop.signal);
  for (let n = 0; n < 8; n += 1) {
    await lease.wait(10_000);
    lease.write({ renewTime: "2001-01-01T00:00:00.000000Z" });
  }
  expect(lease.spec?.holderIdentity).toBe("other");
  stop.abort(new Error("stop"));
  await expect(waiting).rejects.toThrow("stop");
});

test("the leader renews the Lease without a further transition", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  await lease.wait(60_000);
  expect(lease.writes.length).toBeGreaterThan(20);
  expect(leadership.mayWrite()).toBe(true);
  expect(leadership.lost.aborted).toBe(false);
  expect(
    new Set(
      lease.writes.map(({ acquireTime, leaseTransitions }) => `${acquireTime} ${leaseTransitions}`),
    ).size,
  ).toBe(1);
});

test.each(["fail", "hang"] as const)(
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

test("the renew deadline counts from when a renewal was sent, not from its response", async () => {
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

test("a process suspended beyond the deadline may not write, even before a timer fires", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const now = lease.clock.monotonic();
  // After a SIGSTOP the clock has advanced and no timer has run yet.
  lease.clock.monotonic = () => now + 11_000;
  expect(leadership.mayWrite()).toBe(false);
});

test("a machine suspended beyond the deadline may not write: its monotonic clock stood still", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const now = lease.clock.now();
  lease.clock.now = () => now + 11_000;
  expect(leadership.mayWrite()).toBe(false);
});

test("a wall clock that is set back does not extend the deadline", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const now = lease.clock.now();
  lease.clock.now = () => now - 3_600_000;
  lease.fault = "hang";
  await lease.wait(10_100);
  expect(leadership.mayWrite()).toBe(false);
});

test("a write has to end before another process may take the Lease", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "hang";
  expect(leadership.writeTimeoutMs()).toBeLessThanOrEqual(12_500);
  await lease.wait(9_500);
  expect(leadership.mayWrite()).toBe(true);
  expect(leadership.writeTimeoutMs()).toBeLessThanOrEqual(3_000);
  expect(leadership.writeTimeoutMs()).toBeGreaterThan(2_500);
});

test("the leader survives a short outage of the API server", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "fail";
  await lease.wait(6_000);
  lease.fault = "none";
  await lease.wait(20_000);
  expect(leadership.mayWrite()).toBe(true);
});

test("a renewal that was applied but reported as failed keeps the Lease", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "apply-and-fail";
  await lease.wait(3_000);
  lease.fault = "none";
  await lease.wait(20_000);
  expect(leadership.mayWrite()).toBe(true);
  expect(lease.spec?.holderIdentity).toBe("me");
});

test.each<[string, (lease: LeaseServer) => void]>([
  ["taken by another process", (lease) => lease.write({ holderIdentity: "other" })],
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

test("a released Lease is free immediately, is not lost, and leaves no timer", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  const released = leadership.release();
  expect(leadership.mayWrite(), "mayWrite during the release").toBe(false);
  await pump(lease.clock, released);
  expect(lease.spec?.holderIdentity).toBe("");
  expect(leadership.lost.aborted).toBe(false);
  expect(lease.clock.pending).toBe(0);
  const startedAt = lease.clock.monotonic();
  await lease.acquire("next");
  expect(lease.clock.monotonic() - startedAt).toBeLessThan(2_000);
});

test("an unavailable API server does not block the release", async () => {
  const lease = await LeaseServer.start();
  const leadership = await lease.acquire();
  lease.fault = "hang";
  const startedAt = lease.clock.monotonic();
  await pump(lease.clock, leadership.release());
  expect(lease.clock.monotonic() - startedAt).toBeLessThan(3_000);
});

test("of two candidates exactly one is the leader at any time, and the other succeeds it", async () => {
  const lease = await LeaseServer.start();
  const both = [lease.startAcquiring("one"), lease.startAcquiring("two")];
  const first = await pump(lease.clock, Promise.race(both));
  await lease.wait(30_000);
  const holder = lease.spec?.holderIdentity;
  await pump(lease.clock, first.release());
  const leaderships = await pump(lease.clock, Promise.all(both));
  const second = leaderships.find((each) => each !== first);
  expect(new Set([holder, lease.spec?.holderIdentity])).toEqual(new Set(["one", "two"]));
  expect(first.mayWrite()).toBe(false);
  expect(second?.mayWrite()).toBe(true);
  await pump(lease.clock, second!.release());
});

test("a Lease that is taken while the process ends is released", async () => {
  const lease = await LeaseServer.start();
  lease.fault = "slow";
  const stop = new AbortController();
  const waiting = lease.startAcquiring("me", stop.signal).catch((error: unknown) => error);
  // The Lease was read after 4 s; the response to the write follows after 8 s.
  await lease.wait(7_000);
  stop.abort(new Error("stop"));
  await lease.wait(6_000);
  expect(await waiting).toEqual(new Error("stop"));
  expect(lease.writes.map(({ holderIdentity }) => holderIdentity)).toEqual(["me", ""]);
});

test("a write of the Lease without a response delays the end by 2 s", async () => {
  const lease = await LeaseServer.start({ holderIdentity: "" });
  const stop = new AbortController();
  lease.fault = "slow";
  let endedAt = 0;
  const waiting = lease.startAcquiring("me", stop.signal).catch(() => {
    endedAt = lease.clock.monotonic();
  });
  await lease.wait(5_000);
  lease.fault = "hang";
  const stoppedAt = lease.clock.monotonic();
  stop.abort(new Error("stop"));
  await lease.wait(3_000);
  await waiting;
  expect(endedAt - stoppedAt).toBe(2_000);
});
