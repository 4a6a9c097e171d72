import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { listenFailure } from "../../lib/errors.ts";
import { silentLogger } from "../../lib/logger.ts";
import { type Readiness, serveEndpoints } from "../../telemetry/endpoints.ts";
import { addGeneratedUser, type NewUser } from "./accounts/users.ts";
import type { VaultContext } from "./context.ts";
import { createContext } from "./create-context.ts";
import { KeyRing } from "./crypto/key-ring.ts";
import { generateMasterKey } from "./crypto/master-key.ts";
import { createHttpServer } from "./http-server.ts";
import { defaultPasswordCost } from "./limits.ts";
import { VaultMetrics } from "./metrics.ts";
import { openResources } from "./open-resources.ts";
import { isPostgresUrl } from "./store/postgres/postgres-location.ts";
import { StoreStart } from "./store/store-start.ts";
import { startSweeper } from "./sweeper.ts";
import type { VaultServerOptions } from "./vault-server-options.ts";

export type { VaultServerOptions };

/** A running server. Disposing it completes the requests in flight, then stops. */
export interface VaultServer extends AsyncDisposable {
  /** Base URL, without a trailing slash. */
  readonly url: string;
  /** Base URL of the listener for metrics. */
  readonly metricsUrl: string | undefined;
  /** Users created because of `dev`. */
  readonly users: readonly NewUser[];
  /** Directory of the `.eml` files; `undefined` with SMTP. */
  readonly mailDirectory: string | undefined;
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

function hostOf({ host }: { readonly host: string }): string {
  return host.includes(":") ? `[${host}]` : host;
}

function urlOf(app: FastifyInstance, options: VaultServerOptions): string {
  const address = app.server.address();
  if (!isAddressInfo(address)) throw new Error("the server is not listening on a port");
  return `${options.tls ? "https" : "http"}://${hostOf(options.listen)}:${address.port}`;
}

/** Serves metrics on an address of their own, because they need no token. Returns its URL. */
async function serveMetrics(
  running: AsyncDisposableStack,
  { metricsListen: listen, allowedHosts }: VaultServerOptions,
  metrics: VaultMetrics,
  readiness: () => Readiness,
): Promise<string | undefined> {
  if (listen === undefined) return undefined;
  const options = {
    listen,
    ...(allowedHosts && { allowedHosts }),
    metrics: metrics.registry,
    readiness,
  };
  const endpoints = await serveEndpoints(options).catch((error: unknown) => {
    throw listenFailure(error, listen, "--metrics-listen");
  });
  const { port } = running.use(endpoints);
  return `http://${hostOf(listen)}:${port}`;
}

/** @throws Error when the key is missing and the server is not ephemeral */
function keyRingOf({ masterKey, dev }: VaultServerOptions): KeyRing {
  const key = masterKey ?? (dev && generateMasterKey());
  if (!key) throw new Error("missing master key");
  return key instanceof KeyRing ? key : KeyRing.of(key);
}

/** Creates the users of an ephemeral server. */
async function addDevUsers(
  { dev, passwordCost = defaultPasswordCost }: VaultServerOptions,
  { store, clock }: VaultContext,
): Promise<NewUser[]> {
  const users: NewUser[] = [];
  for (const email of dev?.users ?? [])
    users.push(await addGeneratedUser(store, email, clock.now(), passwordCost));
  return users;
}

/** Says how to begin with a vault that has no account yet. */
async function reportNoAccounts({ store, signUp, logger }: VaultContext, url: string) {
  if (await store.readOne(({ users }) => users.any())) return;
  const signingUp = signUp.mode === "open" ? `, or sign up at ${url}` : "";
  logger.warn(
    { event: "no_accounts" },
    `no accounts yet: add the first with \`vaultsync vault user add EMAIL\`, on the same data${signingUp}`,
  );
}

/** Listens at the address of the options. Returns the URL of the server. */
async function startListening(app: FastifyInstance, options: VaultServerOptions): Promise<string> {
  await app.listen(options.listen).catch((error: unknown) => {
    throw listenFailure(error, options.listen, "--listen");
  });
  return urlOf(app, options);
}

/**
 * Starts a vault server in this process. Waits for a PostgreSQL database that cannot be reached
 * yet, until the signal is aborted.
 * @throws Error when a master key is missing, the data cannot be opened, or the address is in use
 */
export async function startVaultServer(
  options: VaultServerOptions,
  signal?: AbortSignal,
): Promise<VaultServer> {
  const keys = keyRingOf(options);
  await using started = new AsyncDisposableStack();
  const { logger = silentLogger } = options;
  const metrics = new VaultMetrics();
  if (options.processMetrics === true) metrics.registry.addProcessMetrics();
  const start = new StoreStart({ waits: isPostgresUrl(options.data), logger, signal });
  let serving: VaultContext | undefined;
  const metricsUrl = await serveMetrics(started, options, metrics, () =>
    serving
      ? { ready: serving.audit?.writable ?? true }
      : { ready: false, problem: start.problem ?? "starting" },
  );
  const opened = await openResources(options, { running: started, start, keys, metrics });
  let appUrl = options.appUrl === undefined ? "" : new URL(options.appUrl).origin;
  const context = createContext(options, opened, () => appUrl);
  const users = await addDevUsers(options, context);
  started.use(context.unauthenticated);
  started.use(context.auditBudget);
  started.use(startSweeper(context));
  const app = started.adopt(await createHttpServer(context, options), (built) => built.close());
  const url = await startListening(app, options);
  // Normalized like the `origin` header of browsers: lower case, without the default port.
  appUrl ||= new URL(url).origin;
  started.use(context.mailer).start();
  serving = context;
  const { mailDirectory } = opened;
  logger.info(
    { event: "listening", url, metricsUrl, mailDir: mailDirectory },
    "vault server listening",
  );
  if (mailDirectory !== undefined && !options.dev)
    logger.warn({ mailDir: mailDirectory }, "no SMTP server: emails are only written to files");
  await reportNoAccounts(context, url);
  const running = started.move();
  // The last step: its caller prints the line that reports readiness first, in the same turn.
  opened.forwarder?.start();
  return {
    url,
    metricsUrl,
    users,
    mailDirectory,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
