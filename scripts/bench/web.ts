import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import type { Browser, BrowserContext } from "playwright-core";
import { launchChromium } from "../../test/lab/chromium.ts";
import { terminalProgress } from "../../test/lab/control-plane/progress.ts";
import { checkOut } from "./earlier-checkout.ts";
import { saveResult } from "./result-file.ts";
import {
  measureVisit,
  type Speed,
  seriesOf,
  visitTables,
  type MeasuredVisit,
} from "./web/visits.ts";
import { execFile } from "node:child_process";
import { z } from "zod";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { defaultMetadata } from "../../test/lab/vault/requests.ts";
import { VaultClient } from "../../test/lab/vault/vault-client.ts";
import { prepared } from "./attack/patient.ts";

/** The account whose secrets the application lists. */
const owner = "ann@example.com";

/** Flags that earlier revisions have too. */
const FLAGS = ["--listen", "127.0.0.1:0", "--dev", "--dev-users", owner];

const ReadyLine = z.object({
  url: z.string(),
  users: z.tuple([z.object({ password: z.string() })]),
});

/** A vault server in a separate process, and the password of `owner`. */
interface WebVault extends AsyncDisposable {
  readonly url: string;
  readonly password: string;
}

/** Returns the name of a secret. Each name occurs in no other one. */
const nameOf = (index: number): string => `team-${index % 20}/secret-${index}-key`;

/** Builds the web application of a checkout. */
async function buildWebOf(checkout: string): Promise<void> {
  const script = join(checkout, "scripts/build-web.ts");
  await promisify(execFile)(process.execPath, [script], { cwd: checkout });
}

/** Returns an empty browser profile in which `owner` is logged in. */
async function logIn(browser: Browser, { url, password }: WebVault): Promise<BrowserContext> {
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
async function startWebVault(checkout: string, secrets: number): Promise<WebVault> {
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

const { values } = parseArgs({
  options: {
    secrets: { type: "string", default: "1000,10000" },
    runs: { type: "string", default: "5" },
    before: { type: "string" },
    output: { type: "string", default: "web" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout
    .write(`Measure the first and the second visit of the web application's list of secrets, in a browser.

npm run bench -- web [--secrets 1000,10000] [--runs 5] [--before REVISION] [--output web]

  --secrets   number of secrets in the list; several separated by commas
  --runs      number of runs; the figures are their medians
  --before    revision of this repository to build and measure too, in turn within each run
  --output    name of the result in scripts/bench/results

Usable is a page whose list is shown and has followed a search. Slow is a quarter of the CPU, 1.6 Mbit/s and 150 ms.
`);
  process.exit(0);
}

interface Subject {
  readonly label: string;
  readonly checkout: string;
}

const progress = terminalProgress();
const visits: MeasuredVisit[] = [];

/** Measures two visits of one browser profile. */
async function measure(
  browser: Browser,
  { label, server }: { readonly label: string; readonly server: WebVault },
  { secrets, speed }: { readonly secrets: number; readonly speed: Speed },
): Promise<MeasuredVisit[]> {
  await using context = await logIn(browser, server);
  const measured: MeasuredVisit[] = [];
  for (const which of ["first", "second"] as const) {
    const figures = await measureVisit(context, {
      url: server.url,
      speed,
      search: nameOf(secrets - 1),
    });
    measured.push({ subject: label, secrets, speed, visit: which, figures });
  }
  return measured;
}

/** Measures all subjects with a number of secrets, in turn within each run. */
async function measureAll(
  browser: Browser,
  subjects: readonly Subject[],
  secrets: number,
): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const vaults = [];
  for (const { label, checkout } of subjects) {
    progress.note(`storing ${secrets} secrets: ${label}`);
    const server = servers.use(await startWebVault(checkout, secrets));
    vaults.push({ label, server });
    // The first visit compiles the server's code.
    await measure(browser, { label, server }, { secrets, speed: "plain" });
  }
  for (let index = 1; index <= runs; index += 1) {
    for (const speed of ["plain", "slow"] as const) {
      for (const vault of index % 2 === 1 ? vaults : vaults.toReversed()) {
        progress.note(`run ${index} of ${runs}: ${secrets} secrets, ${speed}, ${vault.label}`);
        visits.push(...(await measure(browser, vault, { secrets, speed })));
      }
    }
  }
}

const root = join(import.meta.dirname, "../..");
const runs = Number(values.runs);
const subjects: Subject[] = [{ label: "now", checkout: root }];
await using earlier = values.before === undefined ? undefined : await checkOut(values.before);
if (earlier !== undefined)
  subjects.push({ label: values.before ?? "", checkout: earlier.directory });
for (const { checkout, label } of subjects) {
  progress.note(`building the web application: ${label}`);
  await buildWebOf(checkout);
}
await using browser = await launchChromium();
for (const secrets of values.secrets.split(",").map(Number)) {
  await measureAll(browser, subjects, secrets);
  await saveResult(values.output, values, seriesOf(visits));
}
process.stdout.write(visitTables(visits));
