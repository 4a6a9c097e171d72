import { expect, test } from "vitest";
import { certificate } from "../../lab/certificates.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SHOP } from "../../lab/simulated/simulated-operator.ts";
import { type Followed, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { freeze } from "./gated-targets.ts";

/** Certificates in a target: when they expire, and when the resource says so. */
const DAY = 86_400_000;

/** Starts a world with a certificate that is valid for 30 days, and for `days` of them from now on. */
async function following(spec: Followed, value: (cert: string, key: string) => string, days = 8) {
  const world = await SimulatedWorld.following([{ name: "tls" }], { cert: "tls" }, spec);
  const to = world.clock.now() + days * DAY;
  const { cert, keyPem } = certificate("shop", {
    hosts: ["shop.example.com"],
    notBefore: new Date(to - 30 * DAY),
    notAfter: new Date(to),
  });
  world.vault().expose = () => ({ value: value(cert, keyPem) });
  world.vault().lists({ name: "tls", version: 2 });
  await world.settle(5_000);
  const notAfter = new Date(Math.floor(to / 1_000) * 1_000).toISOString();
  return { world, notAfter };
}

const afterOf = (world: SimulatedWorld): string | undefined => world.status().items?.[0]?.notAfter;

test("the certificate of a target is reported a week before it expires, also after a restart", async () => {
  const { world, notAfter } = await following({}, (cert, key) => cert + key);
  await using _ = world;
  expect(afterOf(world)).toBe(notAfter);
  await world.replace();
  expect(afterOf(world)).toBe(notAfter);
  await world.settle(0.9 * DAY);
  expect(world.condition("ExpiringSoon")).toBeUndefined();
  await world.settle(0.2 * DAY);
  expect(world.condition("ExpiringSoon")?.message).toBe(
    `expires soon, or has expired: the certificate of tls at ${notAfter}`,
  );
  expect(world.condition("Ready")?.status).toBe("True");
});

test("a certificate that is a property of a secret is reported", async () => {
  const data = [{ secretKey: "cert", remoteRef: { key: "tls", property: "/crt" } }];
  const { world, notAfter } = await following({ data }, (crt) => JSON.stringify({ crt }));
  await using _ = world;
  expect(afterOf(world)).toBe(notAfter);
});

test("spec.expiryNotice is at most a third of the lifetime", async () => {
  const { world } = await following({ expiryNotice: "60d" }, (cert) => cert, 11);
  await using _ = world;
  await world.settle(0.9 * DAY);
  expect(world.condition("ExpiringSoon")).toBeUndefined();
  await world.settle(0.2 * DAY);
  expect(world.condition("ExpiringSoon")).toBeDefined();
});

test("a version without a certificate has no dates", async () => {
  const { world } = await following({}, (cert) => cert);
  await using _ = world;
  world.vault().expose = () => ({ value: "none" });
  world.vault().lists({ name: "tls", version: 3 });
  await world.settle(5_000);
  expect(afterOf(world)).toBeUndefined();
});

/** Writes a version of `db`. Returns the time at which it expires, in a day. */
function write(world: SimulatedWorld): string {
  world
    .vault()
    .act(ACCOUNT, "protect", { key_name: "db", key_value: "x", metadata: { expiration_time: 1 } });
  const at = Math.ceil((world.clock.now() + DAY) / 1_000) * 1_000;
  return new Date(at).toISOString();
}

const itemsOf = (world: SimulatedWorld, name?: string) =>
  world.status(name).items?.map(({ version, expiresAt }) => ({ version, expiresAt }));

test("a version that is followed by another one keeps its own expiry, after a restart too", async () => {
  await using world = await SimulatedWorld.shop();
  const first = write(world);
  world.follow({ pinned: { key: "db", version: 1 }, latest: "db" });
  await world.settle(DAY / 10);
  const second = write(world);
  await world.settle(60_000);
  await world.restart();
  await world.settle(0.6 * DAY);
  expect(itemsOf(world)).toEqual([
    { version: 1, expiresAt: first },
    { version: 2, expiresAt: second },
  ]);
  expect(world.condition("ExpiringSoon")?.message).toBe(
    `expires soon, or has expired: db at ${first}`,
  );
});

test("the previous version has the expiry that it had as the latest", async () => {
  await using world = await SimulatedWorld.shop();
  world.follow({ previous: { key: "db", version: "previous" }, latest: "db" });
  const expiries = [];
  for (let version = 1; version <= 3; version += 1) {
    expiries.push(write(world));
    await world.settle(60_000);
  }
  expect(itemsOf(world)).toEqual([
    { version: 2, expiresAt: expiries[1] },
    { version: 3, expiresAt: expiries[2] },
  ]);
});

// Found by a review: nothing said that what a target keeps expires.
test("the certificate that a target keeps of a missing source is reported", async () => {
  const { world, notAfter } = await following({}, (cert) => cert);
  await using _ = world;
  world.vault().lists();
  await world.settle(1.1 * DAY);
  expect(world.condition("Ready")?.reason).toBe("SourceMissing");
  const message = `expires soon, or has expired: the certificate of tls at ${notAfter}`;
  expect(world.condition("ExpiringSoon")?.message).toBe(message);
  await world.replace();
  expect(world.condition("ExpiringSoon")?.message).toBe(message);
});

test("the certificate that a freeze keeps is reported, although another account has the name", async () => {
  const { world, notAfter } = await following({}, (cert) => cert);
  await using _ = world;
  freeze(world, { until: new Date(world.clock.now() + 9 * DAY).toISOString() });
  world.connection({ namespace: SHOP, name: "vault" }, { receive: "Anyone" });
  await world.settle();
  world.vault().lists({ name: "tls", owner: "pki@example.com", shared: true, version: 7 });
  await world.settle(1.1 * DAY);
  expect(world.condition("ExpiringSoon")?.message).toBe(
    `expires soon, or has expired: the certificate of tls at ${notAfter}`,
  );
});
