import { expect, test } from "vitest";
import { certificate } from "../../lab/certificates.ts";
import { type Followed, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

/** Certificates in a target: when they expire, and when the resource says so. */
const DAY = 86_400_000;

async function following(spec: Followed, value: (cert: string, key: string) => string) {
  const world = await SimulatedWorld.following([{ name: "tls" }], { cert: "tls" }, spec);
  const from = world.clock.now();
  const { cert, keyPem } = certificate("shop", {
    hosts: ["shop.example.com"],
    notBefore: new Date(from),
    notAfter: new Date(from + 30 * DAY),
  });
  world.vault().expose = () => ({ value: value(cert, keyPem) });
  world.vault().lists({ name: "tls", version: 2 });
  await world.settle(5_000);
  const notAfter = new Date(Math.floor((from + 30 * DAY) / 1_000) * 1_000).toISOString();
  return { world, notAfter };
}

const afterOf = (world: SimulatedWorld): string | undefined => world.status().items?.[0]?.notAfter;

test("the certificate of a target is reported a week before it expires, also after a restart", async () => {
  const { world, notAfter } = await following({}, (cert, key) => cert + key);
  await using _ = world;
  expect(afterOf(world)).toBe(notAfter);
  await world.replace();
  expect(afterOf(world)).toBe(notAfter);
  await world.settle(22.9 * DAY);
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
  const { world } = await following({ expiryNotice: "60d" }, (cert) => cert);
  await using _ = world;
  await world.settle(19.9 * DAY);
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
