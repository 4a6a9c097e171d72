import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  DAY,
  emailsTotal,
  HOUR,
  startMailers,
  MINUTE,
} from "../../../../test/lab/mail/start-mailers.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { tokenDigest } from "../accounts/opaque-token.ts";
import { smtpTransport } from "./smtp-transport.ts";
import { parseSmtpUrl } from "./smtp-url.ts";
import { refusal } from "../../../../test/lab/mail/smtp-server.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { EmailTransport } from "./email-transport.ts";

test.each([
  ["STARTTLS", {}],
  ["TLS from the first byte", { secure: true }],
])(
  "sends an email over %s with a login, with headers, both parts and the link",
  async (_how, how) => {
    const {
      smtp,
      store,
      clock: virtual,
      post,
      mailer,
      waiting,
      metric,
    } = await startMailers({
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
      subject: "Something was shared with you",
      "message-id": `<${id}@vault.example.com>`,
      date: "Sat, 21 Nov 2026 10:00:00 +0000",
      "auto-submitted": "auto-generated",
    });
    expect(mail.headers.get("content-type")).toContain("multipart/alternative");
    expect(mail.link).toBe(`https://vault.example.com/#/set-password?token=${mail.token}`);
    expect(mail.html).toContain(`<a href="${mail.link}">Sign up</a>`);
    expect(
      await store.read(({ emailProofs }) => emailProofs.find(tokenDigest(mail.token))),
    ).toEqual({
      digest: tokenDigest(mail.token),
      email: "bob@example.com",
      expiresAt: virtual.now() + 7 * DAY,
    });
    await expect.poll(waiting).toBe(0);
    await expect.poll(() => metric(emailsTotal("invitation", "sent"))).toBe("1");
    await expect.poll(() => metric("vaultsync_vault_emails_waiting")).toBe("0");
  },
);

test("sends no email and no password to a server with an untrusted certificate", async () => {
  const { smtp, post, mailer, waiting, lines } = await startMailers({
    login: { user: "u", password: "p" },
  });
  await post();
  const url = parseSmtpUrl(`smtp://u:p@127.0.0.1:${smtp.port}?requireTLS=true`);
  mailer({ transport: smtpTransport(new Redacted(url), undefined) }).start();
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { attempt: 1 } }]);
  expect(smtp.deliveries).toEqual([]);
  expect(smtp.logIns).toBe(0);
  expect(await waiting()).toBe(1);
});

test("sends no email to a server without TLS when TLS is required", async () => {
  const { smtp, post, mailer, waiting, lines } = await startMailers();
  await post();
  const url = parseSmtpUrl(`smtp://127.0.0.1:${smtp.port}?requireTLS=true`);
  mailer({ transport: smtpTransport(new Redacted(url), smtp.ca) }).start();
  await expect.poll(() => lines).toMatchObject([{ level: "warn", fields: { attempt: 1 } }]);
  expect(smtp.deliveries).toEqual([]);
  expect(await waiting()).toBe(1);
});

test("sends a login link without a proof to a recipient who has an account by then", async () => {
  const { smtp, store, clock: virtual, post, mailer } = await startMailers();
  await post();
  await store.write(({ users }) =>
    users.insert({ email: "bob@example.com", passwordHash: "h" }, virtual.now()),
  );
  mailer().start();
  await expect.poll(() => smtp.deliveries[0]?.mail.link).toBe("https://vault.example.com/#/login");
});

test.each([
  [true, "Set a new password"],
  [false, "Finish signing up"],
])(
  "a confirmation to an address with account: %s has subject %j and a one-hour proof",
  async (account, subject) => {
    const { smtp, store, clock: virtual, post, mailer } = await startMailers();
    const email = "bob@example.com";
    if (account)
      await store.write(({ users }) => users.insert({ email, passwordHash: "h" }, virtual.now()));
    await post({ kind: "confirmation", from: email });
    mailer().start();
    await expect.poll(() => smtp.deliveries).toHaveLength(1);
    const { mail } = smtp.deliveries[0]!;
    expect(mail.subject).toEqual(subject);
    expect(mail.text.includes("one hour")).toBe(true);
    expect(mail.html.includes(subject)).toBe(true);
    const proof = await store.read(({ emailProofs }) => emailProofs.find(tokenDigest(mail.token)));
    expect(proof).toMatchObject({ email, expiresAt: virtual.now() + HOUR });
  },
);

test("two mailers on one store send each email once", async () => {
  const { smtp, post, mailer, waiting } = await startMailers();
  const all = Array.from({ length: 20 }, (_, at) => `p${at}@example.com`);
  for (const to of all) await post({ to });
  for (const each of [mailer(), mailer()]) each.start();
  await expect.poll(waiting).toBe(0);
  expect(smtp.deliveries.flatMap(({ to }) => to).toSorted()).toEqual(all.toSorted());
});

test("the outbox has one email per kind, sender and recipient", async () => {
  const { smtp, store, post, mailer, waiting } = await startMailers();
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
  expect(await store.write(({ outbox }) => outbox.insert({ ...more, id: randomUUID() }))).toBe(
    false,
  );
});

test("finds an email of another process within five seconds", async () => {
  const { smtp, post, mailer, metric, elapse } = await startMailers();
  mailer().start();
  await expect.poll(() => metric("vaultsync_vault_emails_waiting")).toBe("0");
  await post();
  await elapse(5_000);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("stopping completes the email in flight and leaves later ones in the outbox", async () => {
  const accepted = Promise.withResolvers<void>();
  const { smtp, post, mailer, waiting } = await startMailers({ data: () => accepted.promise });
  await post();
  const stopping = mailer();
  stopping.start();
  await expect.poll(() => smtp.connections).toBe(1);
  const stopped = stopping[Symbol.asyncDispose]();
  await post({ to: "later@example.com" });
  stopping.wake();
  accepted.resolve();
  await stopped;
  expect(smtp.deliveries.map(({ to }) => to)).toEqual([["bob@example.com"]]);
  expect(await waiting()).toBe(1);
});

test("stopping cancels an email after five seconds and makes it due immediately", async () => {
  const asked = Promise.withResolvers<void>();
  const hanging = async () => {
    asked.resolve();
    await new Promise(() => undefined);
  };
  const { store, clock: virtual, post, mailer } = await startMailers({ data: hanging });
  const message = await post();
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
  expect(await store.write(({ outbox }) => outbox.claim(now, now, 9))).toEqual([
    { ...message, dueAt: now },
  ]);
});

test("keeps an email while the SMTP server is down and sends it afterwards", async () => {
  const { smtp, post, mailer, lines, waiting, elapse } = await startMailers();
  await smtp.goAway();
  const { id } = await post();
  mailer().start();
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    level: "warn",
    fields: { emailId: id, kind: "invitation", code: "ESOCKET", attempt: 1 },
  });
  expect(JSON.stringify(lines)).not.toMatch(/bob|ann|example\.com/);
  expect(await waiting()).toBe(1);
  await smtp.comeBack();
  await elapse(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
  await expect.poll(waiting).toBe(0);
});

test("retries with backoff up to one hour and gives up after about three days", async () => {
  const { clock: virtual, post, mailer, waiting, metric, lines } = await startMailers();
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
  const waits = [0.75, 1.5, 3, 6, 12, 24, ...Array.from({ length: 93 }, () => 45)].map(
    (minutes) => minutes * MINUTE,
  );
  for (const [failures, wait] of waits.entries()) {
    virtual.stepWall(wait - 5_001);
    await virtual.advance(5_000);
    expect(tries).toBe(failures + 1);
    await virtual.advance(5_000);
    expect(tries).toBe(failures + 2);
  }
  expect(Math.round(waits.reduce((sum, wait) => sum + wait) / DAY)).toBe(3);
  expect(await metric(emailsTotal("invitation", "failed"))).toBe("99");
  expect(await metric(emailsTotal("invitation", "given_up"))).toBe("1");
  expect(lines.at(-1)?.level).toBe("error");
  expect(await waiting()).toBe(0);
});

test.each([
  ["a busy recipient", 450, { recipient: () => Promise.reject(refusal(450)) }],
  ["a message", 451, { data: () => Promise.reject(refusal(451)) }],
  ["a sender without a login", 530, { recipient: () => Promise.reject(refusal(530)) }],
])("retries after the temporary rejection of %s (%d)", async (_what, status, behaviour) => {
  const { smtp, post, mailer, lines, elapse } = await startMailers(behaviour);
  await post();
  mailer().start();
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: "warn", fields: { attempt: 1 } });
  expect(lines[0]?.fields["code"]).toContain(String(status));
  smtp.behaviour = {};
  await elapse(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("retries after a rejected login", async () => {
  const { smtp, post, mailer, lines, elapse } = await startMailers({
    login: { user: "u", password: "right" },
  });
  smtp.behaviour = { login: { user: "u", password: "other" } };
  await post();
  mailer().start();
  await expect.poll(() => lines[0]?.fields).toMatchObject({ code: "EAUTH 535" });
  smtp.behaviour = { login: { user: "u", password: "right" } };
  await elapse(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test.each([
  ["the recipient", { recipient: () => Promise.reject(refusal(550)) }],
  ["the message", { data: () => Promise.reject(refusal(554)) }],
])("gives up when %s is rejected permanently, and logs no address", async (_what, behaviour) => {
  const {
    smtp,
    clock: virtual,
    post,
    mailer,
    lines,
    waiting,
    metric,
  } = await startMailers(behaviour);
  const { id } = await post();
  mailer().start();
  await expect.poll(waiting).toBe(0);
  expect(lines).toMatchObject([
    { level: "error", fields: { emailId: id, kind: "invitation", attempt: 1 } },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/bob|ann|example\.com/);
  expect(await metric(emailsTotal("invitation", "given_up"))).toBe("1");
  const { connections } = smtp;
  await virtual.advance(DAY);
  expect(smtp.connections).toBe(connections);
});

test("gives up on an undeliverable address without sending to another one", async () => {
  const { smtp, post, mailer, lines, waiting } = await startMailers();
  await post({ to: "<victim@example.com" });
  mailer().start();
  await expect.poll(waiting).toBe(0);
  expect(lines[0]?.fields["code"]).toBe("EADDRESS");
  expect(smtp.deliveries).toEqual([]);
});

test("sends an email again after its lease when removing it failed", async () => {
  const { smtp, store, post, mailer, lines, elapse } = await startMailers();
  let broken = true;
  const dying: Store = {
    read: (work) => store.read(work),
    readOne: (work) => store.readOne(work),
    write: <T>(work: (transaction: Transaction) => Promise<T>) =>
      store.write((transaction) =>
        work(
          broken
            ? {
                ...transaction,
                outbox: { ...transaction.outbox, remove: () => Promise.reject(new Error("gone")) },
              }
            : transaction,
        ),
      ),
    changes: store.changes,
    listen: () => store.listen(),
    scrub: () => store.scrub(),
    reusableBytes: () => store.reusableBytes(),
    [Symbol.asyncDispose]: async () => undefined,
  };
  await post();
  mailer({ store: dying }).start();
  await expect.poll(() => lines).toHaveLength(1);
  broken = false;
  await elapse(5 * MINUTE - 1);
  expect(smtp.connections).toBe(1);
  await elapse(1);
  await expect.poll(() => smtp.deliveries).toHaveLength(2);
  const [first, second] = smtp.deliveries.map(({ mail }) => mail.headers.get("message-id"));
  expect(second).toBe(first);
});

test("cancels an attempt after two minutes and retries", async () => {
  const asked = Promise.withResolvers<void>();
  const hanging = async () => {
    asked.resolve();
    await new Promise(() => undefined);
  };
  const { smtp, post, mailer, lines, elapse } = await startMailers({ data: hanging });
  await post();
  mailer().start();
  await asked.promise;
  await elapse(120_000 - 1);
  expect(lines).toEqual([]);
  await elapse(1);
  await expect
    .poll(() => lines)
    .toMatchObject([{ level: "warn", fields: { code: "EABORT", attempt: 1 } }]);
  smtp.behaviour = {};
  await elapse(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});
