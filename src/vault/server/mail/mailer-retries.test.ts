import { expect, test } from "vitest";
import { DAY, emailsTotal, startMailers, MINUTE } from "../../../../test/lab/mail/start-mailers.ts";
import { refusal } from "../../../../test/lab/mail/smtp-server.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { EmailTransport } from "./email-transport.ts";

test("keeps an email while the SMTP server is down and sends it afterwards", async () => {
  const { smtp, clock: virtual, post, mailer, lines, waiting } = await startMailers();
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
  await virtual.advance(MINUTE);
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
  const { smtp, clock: virtual, post, mailer, lines } = await startMailers(behaviour);
  await post();
  mailer().start();
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: "warn", fields: { attempt: 1 } });
  expect(lines[0]?.fields["code"]).toContain(String(status));
  smtp.behaviour = {};
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});

test("retries after a rejected login", async () => {
  const {
    smtp,
    clock: virtual,
    post,
    mailer,
    lines,
  } = await startMailers({ login: { user: "u", password: "right" } });
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
  const { smtp, store, clock: virtual, post, mailer, lines } = await startMailers();
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
  await virtual.advance(5 * MINUTE - 1);
  expect(smtp.connections).toBe(1);
  await virtual.advance(1);
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
  const { smtp, clock: virtual, post, mailer, lines } = await startMailers({ data: hanging });
  await post();
  mailer().start();
  await asked.promise;
  await virtual.advance(120_000 - 1);
  expect(lines).toEqual([]);
  await virtual.advance(1);
  await expect
    .poll(() => lines)
    .toMatchObject([{ level: "warn", fields: { code: "EABORT", attempt: 1 } }]);
  smtp.behaviour = {};
  await virtual.advance(MINUTE);
  await expect.poll(() => smtp.deliveries).toHaveLength(1);
});
