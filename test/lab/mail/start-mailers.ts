import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { Redacted } from "../../../src/lib/redacted.ts";
import { Mailer, type MailerPorts } from "../../../src/vault/server/mail/mailer.ts";
import { smtpTransport } from "../../../src/vault/server/mail/smtp-transport.ts";
import { parseSmtpUrl } from "../../../src/vault/server/mail/smtp-url.ts";
import { VaultMetrics } from "../../../src/vault/server/metrics.ts";
import type { EmailMessage } from "../../../src/vault/server/store/records.ts";
import { openSqliteStore } from "../../../src/vault/server/store/sqlite/sqlite-store.ts";
import { recordingLogger } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { waitUntil } from "../clock/wait-until.ts";
import { TestSmtpServer, type SmtpBehaviour } from "./smtp-server.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Returns the sample name of the email counter. */
export const emailsTotal = (kind: string, outcome: string) =>
  `vaultsync_vault_emails_total{kind="${kind}",outcome="${outcome}"}`;

/**
 * Returns a store, a virtual clock and an SMTP server, with mailers that use them. They end with the
 * test.
 */
export async function startMailers(behaviour: SmtpBehaviour = {}) {
  const smtp = await TestSmtpServer.start(behaviour);
  const [virtual, store, metrics] = [
    new VirtualClock(Date.UTC(2026, 10, 21, 10)),
    openSqliteStore(":memory:"),
    new VaultMetrics(),
  ];
  const { logger, lines } = recordingLogger();
  const mailers: Mailer[] = [];
  onTestFinished(async () => {
    for (const mailer of mailers) await mailer[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
  const { login } = behaviour;
  const user = login
    ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`
    : "";
  const scheme = behaviour.secure === true ? "smtps" : "smtp";
  const url = `${scheme}://${user}127.0.0.1:${smtp.port}${login ? "?requireTLS=true" : ""}`;
  return {
    smtp,
    clock: virtual,
    store,
    lines,
    metrics,
    mailer: (others: Partial<MailerPorts> = {}): Mailer => {
      const mailer = new Mailer({
        store,
        clock: virtual,
        random: () => 0.5,
        logger,
        metrics,
        transport: smtpTransport(new Redacted(parseSmtpUrl(url)), smtp.ca),
        senderIdentity: () => ({
          appUrl: "https://vault.example.com",
          from: "vaultsync@vault.example.com",
          signUp: { mode: "open" },
        }),
        ...others,
      });
      mailers.push(mailer);
      return mailer;
    },
    post: async (message: Partial<EmailMessage> = {}): Promise<EmailMessage> => {
      const whole: EmailMessage = {
        id: randomUUID(),
        kind: "invitation",
        to: "bob@example.com",
        from: "ann@example.com",
        attempts: 0,
        dueAt: virtual.now(),
        ...message,
      };
      await store.write(({ outbox }) => outbox.insert(whole));
      return whole;
    },
    /**
     * Advances the clock from timer to timer. Before each step it waits for the mailer's next timer:
     * the end of a poll sets it, in real time.
     */
    elapse: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0;) {
        const step = Math.min(left, await waitUntil("a timer is set", () => virtual.nextIn));
        await virtual.advance(step);
        left -= step;
      }
    },
    waiting: (): Promise<number> => store.read(({ outbox }) => outbox.count()),
    metric: async (sample: string): Promise<string | undefined> => {
      const text = await metrics.registry.text();
      return text
        .split("\n")
        .find((line) => line.startsWith(`${sample} `))
        ?.slice(sample.length + 1);
    },
  };
}
