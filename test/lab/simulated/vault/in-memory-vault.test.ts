import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../../../src/lib/clock.ts";
import type { Operation } from "../../../../src/protocol/operation-paths.ts";
import { Redacted } from "../../../../src/lib/redacted.ts";
import { VirtualClock } from "../../clock/virtual-clock.ts";
import { TestVault } from "../../vault/test-vault.ts";
import { scopeString, type VaultClient } from "../../vault/vault-client.ts";
import { InMemoryTransport } from "./in-memory-transport.ts";
import { InMemoryVault } from "./in-memory-vault.ts";

/** One request of one of two users, with a token of limited or unlimited scope. */
interface Command {
  readonly user: "ann" | "bob";
  readonly limited: boolean;
  readonly operation: Operation;
  readonly body: Readonly<Record<string, unknown>>;
}

const RUNS = 40;
const name = fc.constantFrom("a", "b");
const version = fc.integer({ min: 1, max: 4 });
const owner = fc.option(fc.constantFrom("ann", "bob"), { nil: undefined });
const metadata = fc.option(
  fc.record(
    { environment_type: fc.constantFrom("prod", "dev"), expiration_time: fc.constantFrom(0, 30) },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const bodies: Partial<Record<Operation, fc.Arbitrary<object>>> = {
  protect: fc.record({
    key_name: name,
    key_value: fc.string(),
    metadata,
    delete_time: fc.constantFrom(undefined, 60),
  }),
  protect_link: fc.record({
    key_name: name,
    key_value: fc.string(),
    metadata,
    owner,
    without_list: fc.constant(1),
  }),
  list_no_dup: fc.constant({}),
  expose: fc.record({ key_name: name }),
  expose_link: fc.record({ key_name: name, owner }),
  version_expose: fc.record({ key_name: name, key_version: version }),
  version_expose_link: fc.record({ key_name: name, key_version: version, owner }),
  version_delete: fc.record({ key_name: name, key_version: version }),
  delete: fc.record({ key_name: name }),
  share: fc.record({ key_name: name, permission: fc.constantFrom("R", "W", "RW") }),
  unshare: fc.record({ key_name: name }),
  list_file: fc.constant({}),
  protect_file: fc.record({ filename: name, text: fc.string() }),
  download_file: fc.record({ filename: name, version: fc.option(version, { nil: undefined }) }),
  delete_file: fc.record({ filename: name }),
};
const command: fc.Arbitrary<Command> = fc
  .oneof(
    ...Object.entries(bodies).map(([operation, body]) => ({
      arbitrary: body.map((fields) => ({ operation: operation as Operation, body: { ...fields } })),
      weight: operation === "protect" || operation === "protect_file" ? 4 : 1,
    })),
  )
  .chain((request) =>
    fc
      .record({ user: fc.constantFrom("ann", "bob"), limited: fc.boolean() })
      .map((by) => ({ ...by, ...request })),
  );

const limitedScope = scopeString({ environment_type: ["prod"], secret_name: ["a", "b"] });
const emails = Array.from({ length: RUNS }, (_, run) => [
  `ann${run}@example.com`,
  `bob${run}@example.com`,
]).flat();
let real: TestVault;

beforeAll(async () => {
  real = await TestVault.start({ emails });
});
afterAll(() => real[Symbol.asyncDispose]());

/**
 * Sends a request and returns its outcome. `tokens` are the user's tokens, of unlimited and limited
 * scope.
 */
type Send = (
  email: string,
  limited: boolean,
  operation: Operation,
  body: Command["body"],
) => Promise<unknown>;

async function realSender(run: number): Promise<Send> {
  const clients = new Map<string, VaultClient>();
  for (const email of emails.slice(2 * run, 2 * run + 2)) {
    clients.set(`${email} false`, await real.client(email));
    clients.set(`${email} true`, await real.client(email, limitedScope));
  }
  return async (email, limited, operation, body) => {
    const client = clients.get(`${email} ${limited}`)!;
    if (operation === "protect_file") {
      const { filename, text } = body as { filename: string; text: string };
      const response = await client.upload([{ filename, bytes: Buffer.from(text) }]);
      return comparable(response.status, response.json());
    }
    const response = await client.call(operation, body);
    return operation === "download_file" && response.status === 200
      ? response.bytes.toString("base64")
      : comparable(response.status, response.json());
  };
}

function modelSender(run: number): Send {
  const vault = new InMemoryVault(new VirtualClock());
  const tokens = new Map<string, string>();
  for (const email of emails.slice(2 * run, 2 * run + 2)) {
    vault.setPassword(email, "password");
    for (const limited of [false, true]) {
      const body = {
        email,
        password: "password",
        scope: limited ? limitedScope : scopeString(),
        expiration_hours: 1,
      };
      const { access_token } = JSON.parse(
        Buffer.from(vault.respond({ operation: "generate_access_token", body }).body).toString(),
      );
      tokens.set(`${email} ${limited}`, access_token);
    }
  }
  return (email, limited, operation, body) => {
    if (operation === "protect_file") {
      const { filename, text } = body as { filename: string; text: string };
      const upload = { filename, bytes: Buffer.from(text) };
      const token = tokens.get(`${email} ${limited}`);
      const { status, body: uploaded } = vault.respond({
        operation,
        body: { email },
        token,
        upload,
      });
      return Promise.resolve(comparable(status, JSON.parse(Buffer.from(uploaded).toString())));
    }
    const response = vault.respond({
      operation,
      body: { ...body, email },
      token: tokens.get(`${email} ${limited}`),
    });
    const bytes = Buffer.from(response.body);
    const isFile = operation === "download_file" && response.status === 200;
    return Promise.resolve(
      isFile ? bytes.toString("base64") : comparable(response.status, JSON.parse(bytes.toString())),
    );
  };
}

/** Removes what differs by chance: messages and times. */
function comparable(status: number, body: { readonly error?: { readonly code: string } }): unknown {
  if (body.error) return [status, body.error.code];
  const withoutTimes = JSON.stringify(body, (field, value: unknown) =>
    field.endsWith("_at") && value !== null ? "a time" : value,
  );
  return [status, JSON.parse(withoutTimes)];
}

test("the in-memory vault responds to random requests like the reference server", async () => {
  const sequences = fc.sample(fc.array(command, { minLength: 30, maxLength: 60, size: "max" }), {
    numRuns: RUNS,
    seed: 1,
  });
  for (const [run, commands] of sequences.entries()) {
    const [sendReal, sendModel] = [await realSender(run), modelSender(run)];
    for (const { user, limited, operation, body } of commands) {
      const emailOf = (who: unknown): unknown =>
        typeof who === "string" ? `${who}${run}@example.com` : who;
      const email = String(emailOf(user));
      const to =
        operation === "share"
          ? { usr_id_from: email, usr_id_to: emailOf(user === "ann" ? "bob" : "ann") }
          : {};
      const sent = { ...body, ...to, ...("owner" in body && { owner: emailOf(body["owner"]) }) };
      const outcome = await sendModel(email, limited, operation, sent);
      expect(outcome, JSON.stringify([operation, sent, limited])).toEqual(
        await sendReal(email, limited, operation, sent),
      );
    }
  }
}, 120_000);

test("a held list responds at a change, at a deadline of the vault, or when the time is over", async () => {
  const clock = new VirtualClock();
  const vault = new InMemoryVault(clock);
  const email = "ann@example.com";
  vault.setPassword(email, "password");
  const client: Clock = {
    now: () => clock.now() - 3_600_000,
    monotonic: () => clock.monotonic(),
    timer: (ms, fire) => clock.timer(ms, fire),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  await using transport = new InMemoryTransport({ vault, clock: client });
  const { signal } = new AbortController();
  const limits = { maxBytes: 1_000_000, deadlineMs: 60_000, signal };
  const credentials = { email, password: "password", scope: scopeString(), expiration_hours: 1 };
  const login = await transport.request({
    ...limits,
    operation: "generate_access_token",
    body: credentials,
  });
  const token = new Redacted(String(JSON.parse(Buffer.from(login.body).toString()).access_token));
  const list = (ifNoneMatch?: string) =>
    transport.request({
      ...limits,
      operation: "list_no_dup",
      body: { email },
      token,
      ifNoneMatch,
      waitSeconds: 50,
    });
  const outcomes: string[] = [];
  const hold = async (etag: string): Promise<void> => {
    const response = await list(etag);
    outcomes.push(
      `${clock.monotonic() / 1_000} s: ${response.status} ${response.header("preference-applied")}`,
    );
  };
  const follow = async (): Promise<void> => hold((await list()).header("etag")!);
  const first = follow();
  await clock.advance(10_000);
  vault.act(email, "protect", { key_name: "a", key_value: "1", delete_time: 1 });
  await first;
  await clock.advance(30_000);
  const second = follow();
  await clock.advance(30_000);
  await second;
  const third = follow();
  await clock.advance(50_000);
  await third;
  expect(outcomes).toEqual(["10 s: 200 wait", "70 s: 200 wait", "120 s: 304 wait"]);
});
