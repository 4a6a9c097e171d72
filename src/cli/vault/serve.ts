import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { once } from "node:events";
import { systemClock } from "../../lib/clock.ts";
import { createLogger, type LogLevel } from "../../telemetry/create-logger.ts";
import { startVaultServer, type VaultServer, type VaultServerOptions } from "../../vault-server/vault-server.ts";
import { auditFault, givenAudit, type AuditFlags } from "./audit-options.ts";
import { isLoopback, type ListenAddress } from "../listen-address.ts";
import { givenKeys } from "./master-keys-option.ts";
import { givenMail, type MailFlags } from "./mail-options.ts";
import { stopSignal } from "../stop-signal.ts";
import { webAppFault, type WebAppFlags } from "./web-app-options.ts";

/** The flags of `vaultsync vault serve`, as commander collects them. */
export interface VaultServeFlags extends MailFlags, AuditFlags, WebAppFlags {
  readonly listen: ListenAddress;
  readonly data?: string;
  readonly masterKeyFile?: string;
  readonly dev?: boolean;
  readonly devUsers?: readonly string[];
  readonly expired: "serve" | "deny";
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly allowHttpListen?: boolean;
  readonly logLevel: LogLevel;
}

/** What cannot be right whatever the files hold; `undefined` when nothing is wrong. */
function flagFault(flags: VaultServeFlags): string | undefined {
  const tls = flags.tlsCertFile !== undefined;
  if (tls !== (flags.tlsKeyFile !== undefined)) return "give --tls-cert-file and --tls-key-file together";
  if (!tls && !isLoopback(flags.listen) && flags.allowHttpListen !== true) {
    return (
      "refusing to serve plain http beyond this machine: listen on 127.0.0.1, give --tls-cert-file and --tls-key-file, " +
      "or, behind something that terminates TLS, add --allow-http-listen"
    );
  }
  const fault = webAppFault(flags);
  if (fault !== undefined || flags.dev === true) return fault;
  if (flags.devUsers) return "--dev-users is for a throw-away server: add --dev, or use `vaultsync vault user add`";
  if (flags.data === undefined) return "say where to keep the data with --data FILE, or start a throw-away server with --dev";
  return auditFault(flags, flags.data);
}

async function serverOptions(flags: VaultServeFlags, command: Command): Promise<VaultServerOptions> {
  const fault = flagFault(flags);
  if (fault !== undefined) return command.error(`error: ${fault}`);
  const masterKey = givenKeys(flags);
  if (!masterKey && flags.dev !== true) {
    return command.error(
      "error: refusing to start without a master key: make one with `vaultsync vault key generate FILE` and give it with --master-key-file FILE",
    );
  }
  const { tlsCertFile, tlsKeyFile } = flags;
  return {
    listen: flags.listen,
    data: flags.data ?? ":memory:",
    expired: flags.expired,
    mail: await givenMail(flags),
    ...givenAudit(flags, flags.data),
    ...(flags.appUrl !== undefined && { appUrl: flags.appUrl }),
    ...(flags.trustProxy && { trustedProxies: flags.trustProxy }),
    logger: createLogger({ name: "vault", level: flags.logLevel }),
    ...(masterKey && { masterKey }),
    ...(flags.dev === true && { dev: { users: flags.devUsers ?? [] } }),
    ...(tlsCertFile !== undefined &&
      tlsKeyFile !== undefined && {
        tls: { cert: await readFile(tlsCertFile, "utf8"), key: await readFile(tlsKeyFile, "utf8") },
      }),
  };
}

/** The one line that says the server is ready. Passwords are printed here and nowhere else. */
function readyLine(server: VaultServer, dev: boolean): string {
  const { mailDirectory } = server;
  const users = server.users.map(({ email, password }) => ({ email, password: password.reveal() }));
  return `${JSON.stringify({ url: server.url, ...(dev && { users }), ...(mailDirectory !== undefined && { mail_dir: mailDirectory }) })}\n`;
}

/** What is still under way this long after the signal is cut off. */
const GRACE_MS = 15_000;

/** `vaultsync vault serve`: runs until it is told to stop, then answers what is under way. */
export async function vaultServe(flags: VaultServeFlags, command: Command): Promise<void> {
  const options = await serverOptions(flags, command);
  if (flags.appUrl === undefined && !isLoopback(flags.listen)) {
    options.logger?.warn({}, "people cannot log in to the web application, and links in letters lead nowhere, without --app-url");
  }
  const stop = stopSignal();
  // The data file holds other people's secrets, sealed or not.
  process.umask(0o077);
  const server = await startVaultServer(options);
  process.stdout.write(readyLine(server, flags.dev === true));
  if (!stop.aborted) await once(stop, "abort");
  using _grace = systemClock.timer(GRACE_MS, () => process.exit(1));
  await server[Symbol.asyncDispose]();
}
