import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { Redacted } from "../../../src/lib/redacted.ts";
import { Mailer, type MailerPorts } from "../../../src/vault/server/mail/mailer.ts";
import { smtpTransport } from "../../../src/vault/server/mail/smtp-transport.ts";
import { parseSmtpUrl } from "../../../src/vault/server/mail/smtp-url.ts";
import { VaultMetrics } from "../../../src/vault/server/metrics.ts";
import type { EmailMessage } from "../../../src/vault/server/store/records.ts";
import { openSqliteStore } from "../../../src/vault/server/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../src/vault/server/store/store.ts";
import { recordingLogger, type LogLine } from "../assertions/recording-logger.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { TestSmtpServer, type SmtpBehaviour } from "./smtp-server.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Returns the sample name of the email counter. */
export const emailsTotal = (kind: string, outcome: string) =>
  `vaultsync_vault_emails_total{kind="${kind}",outcome="${outcome}"}`;

/** A store, a virtual clock and an SMTP server, with mailers that use them. */
export interface MailerWorld {
  readonly smtp: TestSmtpServer;
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly lines: LogLine[];
  readonly metrics: VaultMetrics;
  readonly mailer: (others?: Partial<MailerPorts>) => Mailer;
  readonly post: (message?: Partial<EmailMessage>) => Promise<EmailMessage>;
  readonly waiting: () => Promise<number>;
  readonly metric: (sample: string) => Promise<string | undefined>;
}

/** Starts a `MailerWorld` that ends with the test. */
export async function mailerWorld(behaviour: SmtpBehaviour = {}): Promise<MailerWorld> {
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
    mailer(others = {}) {
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
    async post(message = {}) {
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
