import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { bytesOf, condition, vaultSecret } from "../lab/real/resources.ts";
import { World } from "../lab/real/world.ts";

/** Values are stored byte for byte, and nowhere but in the Secret. */
const world = await World.ofFile();
beforeAll(async () => {
  await world.startOperator();
});

/** Values by name, with a canary inside if one fits. */
const shapes: Record<string, (canary: string) => string> = {
  plain: (canary) => canary,
  spaces: (canary) => `  ${canary}\t `,
  "trailing-newline": (canary) => `${canary}\n`,
  "multiple-lines": (canary) => `-----BEGIN-----\r\n${canary}\r\n\r\n-----END-----\n`,
  emoji: (canary) => `🔑 ${canary} 👩‍👩‍👧‍👦 é é`,
  nul: (canary) => `\u0000${canary}\u0000\u0001`,
  "byte-order-mark": (canary) => `\uFEFF${canary}`,
  json: (canary) => JSON.stringify({ __proto__: 1, password: canary, nested: [null, 0, "\u2028"] }),
  "base64-text": (canary) => `${Buffer.from(canary).toString("base64")}==`,
  "100-kb": (canary) => canary + randomBytes(75_000).toString("base64"),
  "one-space": () => " ",
  "one-newline": () => "\n",
  "one-nul": () => "\u0000",
  zero: () => "0",
  null: () => "null",
  empty: () => "",
};

test("values of every shape are stored unchanged under their keys", async () => {
  const values = new Map<string, string>();
  for (const [name, shape] of Object.entries(shapes)) {
    const value = shape(world.canaries.text(name));
    values.set(name, value);
    await world.protect(`value-${name}`, value);
  }
  const keys = Object.fromEntries([...values.keys()].map((name) => [name, `value-${name}`]));
  await world.apply(vaultSecret("values", keys));
  await world.ready("VaultSecret", "values");
  const secret = await world.until("Secret", "values", () => true);
  for (const [name, value] of values)
    expect(bytesOf(secret, name)?.equals(Buffer.from(value)), name).toBe(true);
  expect(Object.keys(secret.data)).toHaveLength(values.size);
});

test("keys named like members of Object.prototype are ordinary keys", async () => {
  const value = world.canaries.text("proto");
  await world.protect("proto", value);
  await world.apply(
    vaultSecret("proto", { constructor: "proto", toString: "proto", ["__proto__"]: "proto" }),
  );
  await world.ready("VaultSecret", "proto");
  const { body } = await world.plane.request(
    "GET",
    `/api/v1/namespaces/${world.namespace}/secrets/proto`,
  );
  const data = new Map(Object.entries<string>(JSON.parse(body).data));
  expect([...data.keys()].sort()).toEqual(["__proto__", "constructor", "toString"]);
  for (const encoded of data.values())
    expect(Buffer.from(encoded, "base64").toString()).toBe(value);
});

test("values of more than 1 MiB in total are rejected with both sizes, and the target is kept", async () => {
  const half = (name: string): string => world.canaries.text(name) + "x".repeat(600_000);
  const first = half("half 1");
  await world.protect("half-1", first);
  await world.apply(vaultSecret("halves", { one: "half-1" }));
  await world.ready("VaultSecret", "halves");
  await world.protect("half-2", half("half 2"));
  await world.apply(vaultSecret("halves", { one: "half-1", two: "half-2" }));
  const resource = await world.untilReason("VaultSecret", "halves", "TooLarge");
  expect(condition(resource, "Ready")?.message).toMatch(/1200048 bytes.*1048576/);
  const secret = await world.until("Secret", "halves", () => true);
  expect(bytesOf(secret, "one")?.toString()).toBe(first);
  expect(Object.keys(secret.data)).toEqual(["one"]);
});

test("a Secret whose type does not allow its content is reported without its content", async () => {
  await world.protect("not-a-certificate", world.canaries.text("certificate"));
  await world.protect("not-a-key", world.canaries.text("key"));
  const target = { type: "kubernetes.io/dockerconfigjson" };
  await world.apply(vaultSecret("registry", { ".dockerconfigjson": "not-a-key" }, target));
  const rejected = await world.untilReason("VaultSecret", "registry", "InvalidContent");
  expect(condition(rejected, "Stalled")?.status).toBe("True");
  expect(await world.get("Secret", "registry")).toBeUndefined();

  await world.apply(
    vaultSecret("tls", { "tls.crt": "not-a-certificate" }, { type: "kubernetes.io/tls" }),
  );
  const invalid = await world.untilReason("VaultSecret", "tls", "InvalidSpec");
  expect(condition(invalid, "Ready")?.message).toContain("tls.key");
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
