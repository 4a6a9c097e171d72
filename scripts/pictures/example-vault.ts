import type { Operation } from "../../src/protocol/operation-paths.ts";
import { systemClock, type Clock } from "../../src/lib/clock.ts";
import { TestVault } from "../../test/lab/vault/test-vault.ts";
import type { VaultClient } from "../../test/lab/vault/vault-client.ts";

export const owner = "dana@example.com";
const colleague = "mika@example.com";
const newcomer = "robin@example.com";

const DAY = 86_400_000;

/** Name, description, days since the last version, and metadata that differs from the defaults. */
type Example = readonly [
  name: string,
  description: string,
  days: number,
  metadata?: Readonly<Record<string, unknown>>,
];

const prod = { environment_type: "prod", expiration_time: 90 };
const staging = { environment_type: "staging", expiration_time: 90 };

const examples: readonly Example[] = [
  ["prod/checkout/database", "PostgreSQL of the orders, rotated each quarter", 12, prod],
  ["prod/checkout/stripe-api-key", "Live key; its test key is in staging", 47, prod],
  ["prod/checkout/webhook-signing-key", "Verifies the callbacks of Stripe", 47, prod],
  ["prod/search/elastic-password", "Read-only user of the search service", 5, prod],
  ["prod/mail/smtp-login", "Relay for receipts and invitations", 88, prod],
  [
    "prod/platform/registry-token",
    "Pulls images in all clusters",
    30,
    { ...prod, cloud_type: "gcp" },
  ],
  ["prod/platform/sentry-dsn", "Errors of the web shop", 61, { ...prod, classification: "low" }],
  ["staging/checkout/database", "Copy without customers", 12, staging],
  ["staging/checkout/stripe-api-key", "Test key", 47, staging],
  ["staging/search/elastic-password", "", 5, staging],
  ["jwt-signing-key", "Signs the sessions of the shop", 94, { expiration_time: 90 }],
  ["oncall-phone-pin", "Voicemail of the on-call phone", 3, { application_type: "phone" }],
];

const received: readonly Example[] = [
  ["billing/datev-export", "Certificate of the accounting export", 20, prod],
  ["analytics-readonly", "Connection string for dashboards", 9, { expiration_time: 365 }],
];

/** Days before now at which the vault handles a request. They give the example a past. */
interface PastClock extends Clock {
  daysAgo: number;
}

function pastClock(): PastClock {
  return {
    daysAgo: 200,
    now() {
      return systemClock.now() - this.daysAgo * DAY;
    },
    monotonic: () => systemClock.monotonic(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    timer: (ms, fire) => systemClock.timer(ms, fire),
  };
}

/**
 * Calls an operation. @throws Error when it fails, because the pictures would show something else
 */
async function call(client: VaultClient, operation: Operation, body: object): Promise<void> {
  const response = await client.call(operation, body);
  if (response.status !== 200) throw new Error(`${operation}: ${response.outcome()}`);
}

function protect(
  client: VaultClient,
  [key_name, description, , metadata]: Example,
  key_value: string,
): Promise<void> {
  return call(client, "protect", {
    key_name,
    key_value,
    metadata: { ...(description !== "" && { description }), ...metadata },
  });
}

async function fillSecrets(
  clock: PastClock,
  danas: VaultClient,
  mikas: VaultClient,
): Promise<void> {
  const all = [
    ...examples.map((example) => [danas, example] as const),
    ...received.map((example) => [mikas, example] as const),
  ];
  for (const daysAgo of [190, 100]) {
    clock.daysAgo = daysAgo;
    for (const example of examples.slice(0, 1))
      await protect(danas, example, "an earlier password");
  }
  for (const [client, example] of all.toSorted(([, left], [, right]) => right[2] - left[2])) {
    clock.daysAgo = example[2];
    await protect(client, example, "an example");
  }
  await call(danas, "protect", {
    key_name: "access-for-the-audit",
    key_value: "v",
    delete_time: 6 * 24 * 60,
  });
}

async function shareSecrets(danas: VaultClient, mikas: VaultClient): Promise<void> {
  await call(danas, "team_create", { group_id: "checkout", members: [colleague, newcomer] });
  await call(danas, "team_create", { group_id: "on call", members: [colleague] });
  const names = ["prod/checkout/database", "prod/checkout/stripe-api-key", "jwt-signing-key"];
  await call(danas, "share", {
    key_name: names,
    permission: "RW",
    usr_id_from: owner,
    group_id_to: "checkout",
  });
  await call(danas, "share", {
    key_name: names[0],
    permission: "R",
    usr_id_from: owner,
    usr_id_to: newcomer,
  });
  const [first, second] = received.map(([name]) => name);
  await call(mikas, "share", {
    key_name: first,
    permission: "R",
    usr_id_from: colleague,
    usr_id_to: owner,
  });
  await call(mikas, "share", {
    key_name: second,
    permission: "RW",
    usr_id_from: colleague,
    usr_id_to: owner,
  });
}

async function fillFiles(clock: PastClock, danas: VaultClient): Promise<void> {
  const files: readonly (readonly [string, number, number])[] = [
    ["shop.p12", 4_210, 170],
    ["ca-bundle.pem", 210_344, 120],
    ["ca-bundle.pem", 214_880, 40],
    ["nginx.conf", 6_120, 33],
    [".env.staging", 812, 12],
    ["nginx.conf", 6_204, 8],
    ["geo-ip.mmdb", 9_412_608, 2],
  ];
  for (const [filename, size, days] of files) {
    clock.daysAgo = days;
    await danas.upload([{ filename, bytes: Buffer.alloc(size, `${filename} ${days}`) }]);
  }
}

/** Deletes what the trash shows. */
async function fillTrash(clock: PastClock, danas: VaultClient): Promise<void> {
  const secrets = ["prod/checkout/paypal-api-key", "staging/mail/smtp-login", "legacy-ftp-login"];
  for (const [at, key_name] of secrets.entries()) {
    clock.daysAgo = 20 - 8 * at;
    for (let version = 0; version <= at; version += 1)
      await call(danas, "protect", { key_name, key_value: "v" });
    await call(danas, "delete", { key_name });
  }
  clock.daysAgo = 1;
  await danas.upload([{ filename: "nginx-2024.conf", bytes: Buffer.alloc(5_800, "x") }]);
  await call(danas, "delete_file", { filename: "nginx-2024.conf" });
}

/** Starts a vault with the example of the pictures in the documentation. */
export async function startExampleVault(): Promise<TestVault> {
  const clock = pastClock();
  const vault = await TestVault.start({
    data: ":memory:",
    emails: [owner, colleague],
    clock,
    trashDays: 30,
  });
  const hours = 24 * 300;
  const [danas, mikas] = [
    await vault.client(owner, undefined, hours),
    await vault.client(colleague, undefined, hours),
  ];
  await fillSecrets(clock, danas, mikas);
  await fillFiles(clock, danas);
  await fillTrash(clock, danas);
  clock.daysAgo = 0;
  await shareSecrets(danas, mikas);
  return vault;
}
