import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, BrowserContext } from "playwright-core";
import { z } from "zod";
import { sessionOperationPath } from "../../../src/protocol/operation-paths.ts";
import { VaultsyncProcess } from "../../../test/lab/real/processes/vaultsync-process.ts";
import { defaultMetadata } from "../../../test/lab/vault/requests.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { prepared } from "../attack/patient.ts";

/** The account whose secrets the application lists. */
const owner = "ann@example.com";

/** Flags that earlier revisions have too. */
const FLAGS = ["--listen", "127.0.0.1:0", "--dev", "--dev-users", owner];

const ReadyLine = z.object({
  url: z.string(),
  users: z.tuple([z.object({ password: z.string() })]),
});

/** A vault server in a separate process, and the password of `owner`. */
export interface WebVault extends AsyncDisposable {
  readonly url: string;
  readonly password: string;
}

/** Returns the name of a secret. Each name occurs in no other one. */
export const nameOf = (index: number): string => `team-${index % 20}/secret-${index}-key`;

/** Builds the web application of a checkout. */
export async function buildWebOf(checkout: string): Promise<void> {
  const script = join(checkout, "scripts/build-web.ts");
  await promisify(execFile)(process.execPath, [script], { cwd: checkout });
}

/** Returns an empty browser profile in which `owner` is logged in. */
export async function logIn(
  browser: Browser,
  { url, password }: WebVault,
): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce" });
  context.setDefaultTimeout(120_000);
  const data = { email: owner, password };
  const response = await context.request.post(url + sessionOperationPath.app_log_in, { data });
  if (!response.ok()) throw new Error(`login failed: ${response.status()}`);
  return context;
}

/** Stores secrets one after another. */
async function store(client: VaultClient, secrets: number): Promise<void> {
  for (let index = 0; index < secrets; index += 1) {
    const secret = { key_name: nameOf(index), key_value: "v", metadata: defaultMetadata };
    await prepared(() => client.call("protect", secret));
  }
}

/** Starts the vault server of a checkout with secrets of `owner`; it serves the built application. */
export async function startWebVault(checkout: string, secrets: number): Promise<WebVault> {
  await using owned = new AsyncDisposableStack();
  const server = owned.use(
    new VaultsyncProcess(["vault", "serve", ...FLAGS], { program: join(checkout, "src/main.ts") }),
  );
  const { url, users } = await server.waitForOutput(({ stdout }) =>
    stdout.includes("\n") ? ReadyLine.parse(JSON.parse(stdout)) : undefined,
  );
  const [{ password }] = users;
  using client = await VaultClient.connect(url, owner, password, { keepAlive: true });
  await store(client, secrets);
  const running = owned.move();
  return { url, password, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
