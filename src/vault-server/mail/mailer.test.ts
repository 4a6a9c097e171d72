import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { recordingLogger, type LogLine } from "../../../test/support/assertions/recording-logger.ts";
import { refusal, TestSmtpServer, type SmtpBehaviour } from "../../../test/support/mail/smtp-server.ts";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { Redacted } from "../../lib/redacted.ts";
import { tokenDigest } from "../accounts/opaque-token.ts";
import { openSqliteStore } from "../store/sqlite/sqlite-store.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { VaultMetrics } from "../metrics.ts";
import type { EmailTransport } from "./email-transport.ts";
import { Mailer, type MailerPorts } from "./mailer.ts";
import { smtpTransport } from "./smtp-transport.ts";
import { parseSmtpUrl } from "./smtp-url.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clock = () => new VirtualClock(Date.UTC(2026, 10, 21, 10));

interface World {
  readonly smtp: TestSmtpServer;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly lines: LogLine[];
  readonly metrics: VaultMetrics;
  readonly mailer: (others?: Partial<MailerPorts>) => Mailer;
  readonly post: (letter?: Partial<EmailMessage>) => Promise<EmailMessage>;
  readonly waiting: () => Promise<number>;
  readonly metric: (sample: string) => Promise<string | undefined>;
}

async function world(behaviour: SmtpBehaviour = {}): Promise<World> {
  const smtp = await TestSmtpServer.start(behaviour);
  const [virtual, store, metrics] = [clock(), openSqliteStore(":memory:"), new VaultMetrics()];
  const { logger, lines } = recordingLogger();
  const mailers: Mailer[] = [];
  onTestFinished(async () => {
    for (const mailer of mailers) await mailer[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
  const { login } = behaviour;
  const user = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : "";
  const scheme = behaviour.secure === true ? "smtps" : "smtp";
  const url = `${scheme}://${user}127.0.0.1:${smtp.port}${login ? "?requireTLS=true" : ""}`;
  return {
    smtp,
    clock: virtual,
    store,
    lines,
    metrics,
    mailer(others = {}) {
      const mailer = new Mailer({
        store,
        clock: virtual,
        random: () => 0.5,
        logger,
        metrics,
        transport: smtpTransport(new Redacted(parseSmtpUrl(url)), smtp.ca),
        senderIdentity: () => ({ appUrl: "https://vault.example.com", from: "vaultsync@vault.example.com" }),
        ...others,
      });
      mailers.push(mailer);
      return mailer;
    },
    async post(letter = {}) {
      const whole: EmailMessage = {
        id: randomUUID(),
        kind: "invitation",
        to: "bob@example.com",
        from: "ann@example.com",
        attempts: 0,
        dueAt: virtual.now(),
        ...letter,
      };
      await store.write(({ outbox }) => outbox.insert(whole));
      return whole;
    },
    waiting: () => store.read(({ outbox }) => outbox.count()),
    async metric(sample) {
      const text = await metrics.registry.text();
      return text
        .split("\n")
        .find((line) => line.startsWith(`${sample} `))
        ?.slice(sample.length + 1);
    },
  };
}

const letters = (kind: string, outcome: string) => `vaultsync_vault_emails_total{kind="${kind}",outcome="${outcome}"}`;

test.each([
  ["STARTTLS", {}],
  ["TLS from the first byte", { secure: true }],
])("over %s with a log-in a letter arrives with its headers, both parts and the link", async (_how, how) => {
  const {
    smtp,
    store,
    clock: virtual,
    post,
    mailer,
    waiting,
    metric,
  } = await world({
    ...how,
    login: { user: "vault@example.com", password: "p@ss/wörd" },
  });
  const { id } = await post();
  mailer().start();
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
  const [{ mail, ...envelope }] = smtp.deliveries as [(typeof smtp.deliveries)[0]];
  expect(envelope).toEqual({
    from: "vaultsync@vault.example.com",
    to: ["bob@example.com"],
    user: "vault@example.com",
    secure: true,
  });
  expect(Object.fromEntries(mail.headers)).toMatchObject({
    from: "Vaultsync <vaultsync@vault.example.com>",
    to: "bob@example.com",
    subject: "ann@example.com shared something with you",
    "message-id": `<${id}@vault.example.com>`,
    date: "Sat, 21 Nov 2026 10:00:00 +0000",
    "auto-submitted": "auto-generated",
  });
  expect(mail.headers.get("content-type")).toContain("multipart/alternative");
  expect(mail.link).toBe(`https://vault.example.com/#/set-password?token=${mail.token}`);
  expect(mail.html).toContain(`<a href="${mail.link}">Sign up</a>`);
  expect(await store.read(({ emailProofs }) => emailProofs.find(tokenDigest(mail.token)))).toEqual({
    digest: tokenDigest(mail.token),
    email: "bob@example.com",
    expiresAt: virtual.now() + 7 * DAY,
  });
  await expect.poll(waiting).toBe(0);
  await expect.poll(() => metric(letters("invitation", "sent"))).toBe("1");
  await expect.poll(() => metric("vaultsync_vault_emails_waiting")).toBe("0");
});

test("a server whose certificate nobody vouches for gets no letter and no password", async () => {
  const { smtp, post, mailer, waiting, lines } = await world({ login: { user: "u", password: "p" } });
  await post();
  const url = parseSmtpUrl(`smtp://u:p@127.0.0.1:${smtp.port}?requireTLS=true`);
  mailer({ transport: smtpTransport(new Redacted(url), undefined) }).start();
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { attempt: 1 } }]);
  expect([smtp.deliveries, smtp.logIns, await waiting()]).toEqual([[], 0, 1]);
});

test("a server without TLS gets no letter where TLS is required", async () => {
  const { smtp, post, mailer, waiting, lines } = await world();
  await post();
  const url = parseSmtpUrl(`smtp://127.0.0.1:${smtp.port}?requireTLS=true`);
  mailer({ transport: smtpTransport(new Redacted(url), smtp.ca) }).start();
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { attempt: 1 } }]);
  expect([smtp.deliveries, await waiting()]).toEqual([[], 1]);
});

test("who has an account by the time of sending is told to log in, without a proof", async () => {
  const { smtp, store, clock: virtual, post, mailer } = await world();
  await post();
  await store.write(({ users }) => users.insert({ email: "bob@example.com", passwordHash: "h" }, virtual.now()));
  mailer().start();
  await expect.poll(() => smtp.deliveries[0]?.mail.link).toBe("https://vault.example.com/#/login");
});

test.each([
  [true, "Set a new password"],
  [false, "Finish signing up"],
])("a confirmation to an address whose having an account is %s says %j, and proves it for an hour", async (account, subject) => {
  const { smtp, store, clock: virtual, post, mailer } = await world();
  const email = "bob@example.com";
  if (account) await store.write(({ users }) => users.insert({ email, passwordHash: "h" }, virtual.now()));
  await post({ kind: "confirmation", from: email });
  mailer().start();
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
  const { mail } = smtp.deliveries[0]!;
  expect([mail.subject, mail.text.includes("one hour"), mail.html.includes(subject)]).toEqual([subject, true, true]);
  const proof = await store.read(({ emailProofs }) => emailProofs.find(tokenDigest(mail.token)));
  expect(proof).toMatchObject({ email, expiresAt: virtual.now() + HOUR });
});

test("while the server is away the letter is kept, and it arrives once the server is back", async () => {
  const { smtp, clock: virtual, post, mailer, lines, waiting } = await world();
  await smtp.goAway();
  const { id } = await post();
  mailer().start();
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: "warn", fields: { emailId: id, kind: "invitation", code: "ESOCKET", attempt: 1 } });
  expect(JSON.stringify(lines)).not.toMatch(/bob|ann|example\.com/);
  expect(await waiting()).toBe(1);
  await smtp.comeBack();
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
  await expect.poll(waiting).toBe(0);
});

test("a letter that fails is tried ever more seldom, once an hour in the end, and given up after about three days", async () => {
  const { clock: virtual, post, mailer, waiting, metric, lines } = await world();
  let tries = 0;
  const failing: EmailTransport = {
    send: async () => {
      tries += 1;
      throw new Error("no");
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  await post();
  mailer({ transport: failing }).start();
  await virtual.advance(0);
  // With a chance of one half: three quarters of 1, 2, 4, … 60 minutes.
  const waits = [0.75, 1.5, 3, 6, 12, 24, ...Array.from({ length: 93 }, () => 45)].map((minutes) => minutes * MINUTE);
  for (const [failures, wait] of waits.entries()) {
    virtual.stepWall(wait - 5_001);
    await virtual.advance(5_000);
    expect(tries).toBe(failures + 1);
    await virtual.advance(5_000);
    expect(tries).toBe(failures + 2);
  }
  expect(Math.round(waits.reduce((sum, wait) => sum + wait) / DAY)).toBe(3);
  expect([await metric(letters("invitation", "failed")), await metric(letters("invitation", "given_up"))]).toEqual(["99", "1"]);
  expect([lines.at(-1)?.level, await waiting()]).toEqual(["error", 0]);
});

test.each([
  ["a recipient that is busy", 450, { recipient: () => Promise.reject(refusal(450)) }],
  ["a message it cannot take now", 451, { data: () => Promise.reject(refusal(451)) }],
  ["a sender who should have logged in", 530, { recipient: () => Promise.reject(refusal(530)) }],
])("%s (%d) is tried again", async (_what, status, behaviour) => {
  const { smtp, clock: virtual, post, mailer, lines } = await world(behaviour);
  await post();
  mailer().start();
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: "warn", fields: { attempt: 1 } });
  expect(lines[0]?.fields["code"]).toContain(String(status));
  smtp.behaviour = {};
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("a wrong log-in is tried again: it is no fault of the letter", async () => {
  const { smtp, clock: virtual, post, mailer, lines } = await world({ login: { user: "u", password: "right" } });
  smtp.behaviour = { login: { user: "u", password: "other" } };
  await post();
  mailer().start();
  await expect.poll(() => lines[0]?.fields).toMatchObject({ code: "EAUTH 535" });
  smtp.behaviour = { login: { user: "u", password: "right" } };
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test.each([
  ["the recipient", { recipient: () => Promise.reject(refusal(550)) }],
  ["the message", { data: () => Promise.reject(refusal(554)) }],
])("%s refused for good is given up at once, with one line that names nobody", async (_what, behaviour) => {
  const { smtp, clock: virtual, post, mailer, lines, waiting, metric } = await world(behaviour);
  const { id } = await post();
  mailer().start();
  await expect.poll(waiting).toBe(0);
  expect(lines).toMatchObject([{ level: "error", fields: { emailId: id, kind: "invitation", attempt: 1 } }]);
  expect(JSON.stringify(lines)).not.toMatch(/bob|ann|example\.com/);
  expect(await metric(letters("invitation", "given_up"))).toBe("1");
  const { connections } = smtp;
  await virtual.advance(DAY);
  expect(smtp.connections).toBe(connections);
});

test("an address that mail cannot be sent to exactly is given up, and nobody else gets the letter", async () => {
  const { smtp, post, mailer, lines, waiting } = await world();
  await post({ to: "<victim@example.com" });
  mailer().start();
  await expect.poll(waiting).toBe(0);
  expect([lines[0]?.fields["code"], smtp.deliveries]).toEqual(["EADDRESS", []]);
});

test("a letter whose removal failed after it was sent is sent again after its lease: at least once", async () => {
  const { smtp, store, clock: virtual, post, mailer, lines } = await world();
  let broken = true;
  const dying: Store = {
    read: (work) => store.read(work),
    write: <T>(work: (transaction: Transaction) => Promise<T>) =>
      store.write((transaction) =>
        work(
          broken
            ? { ...transaction, outbox: { ...transaction.outbox, remove: () => Promise.reject(new Error("gone")) } }
            : transaction,
        ),
      ),
    scrub: () => store.scrub(),
    [Symbol.asyncDispose]: async () => undefined,
  };
  await post();
  mailer({ store: dying }).start();
  await expect.poll(() => lines).toHaveLength(1);
  broken = false;
  await virtual.advance(5 * MINUTE - 1);
  expect(smtp.connections).toBe(1);
  await virtual.advance(1);
  await expect.poll(() => smtp.deliveries).toHaveLength(2);
  const [first, second] = smtp.deliveries.map(({ mail }) => mail.headers.get("message-id"));
  expect(second).toBe(first);
});

test("two mailers on one store send each letter once", async () => {
  const { smtp, post, mailer, waiting } = await world();
  const all = Array.from({ length: 20 }, (_, at) => `p${at}@example.com`);
  for (const to of all) await post({ to });
  for (const each of [mailer(), mailer()]) each.start();
  await expect.poll(waiting).toBe(0);
  expect(smtp.deliveries.flatMap(({ to }) => to).toSorted()).toEqual(all.toSorted());
});

test("a letter of the same kind and sender to the same recipient waits only once", async () => {
  const { smtp, store, post, mailer, waiting } = await world();
  for (const to of ["bob@example.com", "bob@example.com", "cid@example.com"]) await post({ to });
  await post({ from: "dan@example.com" });
  await post({ kind: "confirmation" });
  expect(await waiting()).toBe(4);
  mailer().start();
  await expect.poll(waiting).toBe(0);
  expect(smtp.deliveries).toHaveLength(4);
  const more = {
    id: randomUUID(),
    kind: "invitation",
    to: "bob@example.com",
    from: "ann@example.com",
    attempts: 0,
    dueAt: 0,
  } as const;
  expect(await store.write(({ outbox }) => outbox.insert(more))).toBe(true);
  expect(await store.write(({ outbox }) => outbox.insert({ ...more, id: randomUUID() }))).toBe(false);
});

test("a letter that somebody else's process put there is found within five seconds", async () => {
  const { smtp, clock: virtual, post, mailer, metric } = await world();
  mailer().start();
  await expect.poll(() => metric("vaultsync_vault_emails_waiting")).toBe("0");
  await post();
  await virtual.advance(5_000);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("stopping finishes the letter under way; what comes later stays in the outbox", async () => {
  const held = Promise.withResolvers<void>();
  const { smtp, post, mailer, waiting } = await world({ data: () => held.promise });
  await post();
  const stopping = mailer();
  stopping.start();
  await expect.poll(() => smtp.connections).toBe(1);
  const stopped = stopping[Symbol.asyncDispose]();
  await post({ to: "later@example.com" });
  stopping.wake();
  held.resolve();
  await stopped;
  expect([smtp.deliveries.map(({ to }) => to), await waiting()]).toEqual([[["bob@example.com"]], 1]);
});

test("a server that hangs has two minutes, then the letter waits its turn again", async () => {
  const asked = Promise.withResolvers<void>();
  const hanging = async () => {
    asked.resolve();
    await new Promise(() => undefined);
  };
  const { smtp, clock: virtual, post, mailer, lines } = await world({ data: hanging });
  await post();
  mailer().start();
  await asked.promise;
  await virtual.advance(120_000 - 1);
  expect(lines).toEqual([]);
  await virtual.advance(1);
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { code: "EABORT", attempt: 1 } }]);
  smtp.behaviour = {};
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("stopping waits five seconds for a server that hangs; the letter is due again at once", async () => {
  const asked = Promise.withResolvers<void>();
  const hanging = async () => {
    asked.resolve();
    await new Promise(() => undefined);
  };
  const { store, clock: virtual, post, mailer } = await world({ data: hanging });
  const letter = await post();
  const stopping = mailer();
  stopping.start();
  await asked.promise;
  let stopped = false;
  const stop = stopping[Symbol.asyncDispose]().then(() => (stopped = true));
  await virtual.advance(4_999);
  expect(stopped).toBe(false);
  await virtual.advance(1);
  await stop;
  const now = virtual.now();
  expect(await store.write(({ outbox }) => outbox.claim(now, now, 9))).toEqual([{ ...letter, dueAt: now }]);
});
