import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { once } from "node:events";
import { systemClock } from "../../lib/clock.ts";
import { createLogger, type LogLevel } from "../../telemetry/create-logger.ts";
import {
  startVaultServer,
  type VaultServer,
  type VaultServerOptions,
} from "../server/vault-server.ts";
import { isUrl, readKeySet } from "../server/identities/issuer-keys.ts";
import { auditError, auditOptions, type AuditFlags } from "./audit-options.ts";
import { isLoopback } from "../../lib/loopback.ts";
import type { ListenAddress } from "../../command-line/options.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { identityError, type IdentityFlags, identityOptions } from "./identity-options.ts";
import { masterKeys } from "./master-keys.ts";
import { mailOptions, type MailFlags } from "./mail-options.ts";
import type { Quotas } from "../server/limits.ts";
import { stopSignal } from "../../command-line/stop-signal.ts";
import { webAppError, webAppOptions, type WebAppFlags } from "./web-app-options.ts";
import { messageOf } from "../../lib/errors.ts";

/** Flags of `vaultsync vault serve` as commander collects them. */
export interface VaultServeFlags
  extends MailFlags, AuditFlags, MasterKeyFlags, WebAppFlags, IdentityFlags {
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress | "none";
  readonly data?: string;
  readonly dev?: boolean;
  readonly devUsers?: readonly string[];
  readonly expired: "serve" | "deny";
  readonly scopeAttributesBy: "writer" | "creator";
  readonly maxTokenHours?: number;
  readonly keepVersions?: number;
  readonly trashDays: number;
  readonly quotas?: Quotas;
  readonly lowSpace: number;
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly allowHttpListen?: boolean;
  readonly allowMissingKeys?: boolean;
  readonly sealRights?: string;
  readonly logLevel: LogLevel;
}

/** Returns the error of the listener's flags, or `undefined`. */
function listenError(flags: VaultServeFlags): string | undefined {
  const tls = flags.tlsCertFile !== undefined;
  if (tls !== (flags.tlsKeyFile !== undefined))
    return "--tls-cert-file and --tls-key-file require each other";
  if (tls || isLoopback(flags.listen.host) || flags.allowHttpListen === true) return undefined;
  return (
    "refusing to serve plain http on a non-loopback address: listen on 127.0.0.1, add --tls-cert-file and --tls-key-file, " +
    "or add --allow-http-listen behind a proxy that terminates TLS"
  );
}

/** Returns the error of the flags of an in-memory server, or `undefined`. */
function devError(flags: VaultServeFlags): string | undefined {
  // With a given key, benchmarks use the limits of --dev on stored data.
  const hasKey = flags.masterKeyFile !== undefined || flags.masterKeyCommand !== undefined;
  if (flags.data === undefined || hasKey) return undefined;
  return "--dev and --data exclude each other: a server with --dev keeps its data in memory, under a generated master key; drop one of them";
}

/** Returns the error of the flags of a server with a data file, or `undefined`. */
function dataError(flags: VaultServeFlags): string | undefined {
  if (flags.devUsers)
    return "--dev-users requires --dev; use `vaultsync vault user add` for other servers";
  if (flags.data === undefined)
    return "specify the data file with --data FILE, or start an in-memory server with --dev";
  return auditError(flags, flags.data);
}

/** Returns the error of contradictory flags, or `undefined`. */
function flagError(flags: VaultServeFlags): string | undefined {
  if (flags.auditForward && !auditOptions(flags, flags.data).auditLog)
    return "--audit-forward copies the audit log, which is disabled: specify its file with --audit-log FILE";
  return (
    listenError(flags) ??
    webAppError(flags) ??
    identityError(flags) ??
    (flags.dev === true ? devError(flags) : dataError(flags))
  );
}

/**
 * Returns the listener for metrics. By default an ephemeral server picks a free port: several can
 * run.
 */
function metricsOptions(
  { metricsListen, dev }: VaultServeFlags,
  command: Command,
): Pick<VaultServerOptions, "metricsListen"> {
  if (metricsListen === "none") return {};
  const ephemeral = dev === true && command.getOptionValueSource("metricsListen") === "default";
  return { metricsListen: ephemeral ? { ...metricsListen, port: 0 } : metricsListen };
}

async function tlsOptions({
  tlsCertFile,
  tlsKeyFile,
}: VaultServeFlags): Promise<Pick<VaultServerOptions, "tls">> {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return {};
  const [cert, key] = [await readFile(tlsCertFile, "utf8"), await readFile(tlsKeyFile, "utf8")];
  return { tls: { cert, key } };
}

/** Returns the limits of what the vault stores and issues. */
function limitOptions({
  maxTokenHours,
  keepVersions,
  trashDays,
  quotas,
  lowSpace,
}: VaultServeFlags): Partial<VaultServerOptions> {
  return {
    ...(maxTokenHours !== undefined && { maxTokenHours }),
    ...(keepVersions !== undefined && { keepVersions }),
    trashDays,
    ...(quotas && { limits: { quotas } }),
    ...(lowSpace > 0 && { lowSpace: { bytes: lowSpace } }),
  };
}

/** Returns the error of a file of keys that cannot be read, or `undefined`. */
async function keyFileError({ identityIssuers = [] }: IdentityFlags): Promise<string | undefined> {
  for (const { issuer, keys } of identityIssuers.filter((one) => !isUrl(one.keys))) {
    try {
      await readKeySet(keys);
    } catch (error) {
      const reason = messageOf(error);
      return `--identity-issuers: cannot read the keys of ${issuer}: ${reason}`;
    }
  }
  return undefined;
}

async function serverOptions(
  flags: VaultServeFlags,
  command: Command,
): Promise<VaultServerOptions> {
  const error = flagError(flags) ?? (await keyFileError(flags));
  if (error !== undefined) return command.error(`error: ${error}`);
  const masterKey = masterKeys(flags);
  if (!masterKey && flags.dev !== true) {
    return command.error(
      "error: refusing to start without a master key: generate one with `vaultsync vault key generate FILE` and pass --master-key-file FILE, or print it with --master-key-command",
    );
  }
  return {
    listen: flags.listen,
    ...metricsOptions(flags, command),
    processMetrics: true,
    data: flags.data ?? ":memory:",
    expired: flags.expired,
    scopeAttributesBy: flags.scopeAttributesBy,
    ...limitOptions(flags),
    mail: await mailOptions(flags),
    ...auditOptions(flags, flags.data),
    ...webAppOptions(flags),
    ...identityOptions(flags),
    logger: createLogger({ name: "vault", level: flags.logLevel }),
    ...(masterKey && { masterKey }),
    allowMissingKeys: flags.allowMissingKeys === true,
    ...(flags.sealRights !== undefined && { sealRights: flags.sealRights }),
    ...(flags.dev === true && { dev: { users: flags.devUsers ?? [] } }),
    ...(await tlsOptions(flags)),
  };
}

/** Returns the line that reports readiness. Generated passwords are printed here only. */
function readyLine(server: VaultServer, dev: boolean): string {
  const { mailDirectory, metricsUrl } = server;
  const users = server.users.map(({ email, password }) => ({ email, password: password.reveal() }));
  return `${JSON.stringify({ url: server.url, ...(metricsUrl !== undefined && { metrics_url: metricsUrl }), ...(dev && { users }), ...(mailDirectory !== undefined && { mail_dir: mailDirectory }) })}\n`;
}

/** Grace period for requests in flight after a stop signal, in milliseconds. */
const GRACE_MS = 15_000;

/** Runs `vaultsync vault serve` until a stop signal, then completes the requests in flight. */
export async function vaultServe(flags: VaultServeFlags, command: Command): Promise<void> {
  rejectPassword(command);
  const options = await serverOptions(flags, command);
  if (flags.appUrl === undefined && !isLoopback(flags.listen.host)) {
    options.logger?.warn(
      {},
      "missing --app-url: web application logins and links in emails do not work",
    );
  }
  using stopping = stopSignal();
  const { signal: stop } = stopping;
  // The data file contains users' secrets, if encrypted.
  process.umask(0o077);
  const server = await startVaultServer(options, stop).catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
  if (server === undefined) return;
  process.stdout.write(readyLine(server, flags.dev === true));
  if (!stop.aborted) await once(stop, "abort");
  using _grace = systemClock.timer(GRACE_MS, () => process.exit(1));
  await server[Symbol.asyncDispose]();
}
