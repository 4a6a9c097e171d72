import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { maskedForms } from "../../src/operator/cli/local/mask/masked-forms.ts";
import { Masker } from "../../src/operator/cli/local/mask/masker.ts";
import { prefixAutomaton } from "../../src/operator/cli/local/mask/prefix-automaton.ts";
import { VaultServerProcess } from "../../test/lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { buildProgram } from "../build-program.ts";
import { saveResult } from "./result-file.ts";
import { quantile, spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

const run = promisify(execFile);
const EMAIL = "shop@example.com";
const root = join(import.meta.dirname, "../..");
const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    repeats: { type: "string", default: "20" },
    mebibytes: { type: "string", default: "256" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout
    .write(`Measure the start of vaultsync run next to Node alone, and how fast --mask is.

npm run bench -- local [--repeats 20] [--mebibytes 256]

The program is built as for the image. A vault in memory runs on a loopback address.
`);
  process.exit(0);
}

/** The login, and a manifest with one secret. */
interface Scene {
  readonly account: string;
  readonly manifest: string;
}

async function prepare(directory: string, vault: VaultServerProcess): Promise<Scene> {
  const account = join(directory, "account.json");
  const env = { VAULTSYNC_ACCOUNT: account };
  const login = ["login", "--url", vault.url, "--email", EMAIL];
  await VaultsyncProcess.run(login, { env, input: vault.passwords.get(EMAIL) ?? "" });
  await VaultsyncProcess.run(["secret", "set", "shop/db"], { env, input: "a value" });
  const manifest = join(directory, "shop.yaml");
  const text = `apiVersion: vaultsync.dev/v1alpha1
kind: VaultSecret
metadata: { name: db, namespace: shop }
spec:
  connectionRef: { name: vault }
  data: [{ secretKey: PASSWORD, remoteRef: { key: shop/db } }]
`;
  await writeFile(manifest, text);
  return { account, manifest };
}

/** Returns the times in ms of each command, all of them once per repeat. */
async function startTimes(
  commands: Readonly<Record<string, readonly string[]>>,
  env: NodeJS.ProcessEnv,
  repeats: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const [name, args] of Object.entries(commands)) {
      const start = performance.now();
      await run(process.execPath, [...args], { env: { PATH: process.env["PATH"], ...env } });
      times.get(name)?.push(performance.now() - start);
    }
  return times;
}

/** Returns output as programs print it: lines of a log, and one value in each MiB. */
function logOf(size: number, secret: Buffer): Buffer {
  const words = "GET POST info error connected request id user items status time path".split(" ");
  const lines: Buffer[] = [];
  let length = 0;
  for (let line = 0; length < size; line++) {
    const of = words.map((word, at) => `${word}=${((line + 1) * (at + 7)) % 99_991}`).join(" ");
    const bytes = Buffer.from(`${of}\n`);
    lines.push(bytes);
    length += bytes.length;
  }
  return Buffer.concat([...lines, secret]);
}

/** Returns the MB that are masked in a second of CPU time, with so many values. */
function maskRate(count: number, mebibytes: number): number {
  const secrets = Array.from({ length: count }, () => Buffer.from(randomBytes(24).toString("hex")));
  const forms = maskedForms(secrets.map((bytes) => ({ bytes, hasSecretLines: true })));
  const masker = new Masker(prefixAutomaton(forms));
  const log = logOf(MIB, secrets[0] ?? Buffer.alloc(0));
  const chunk = 64 * 1024;
  const start = process.threadCpuUsage();
  let output = 0;
  for (let done = 0; done < mebibytes; done++)
    for (let at = 0; at < log.length; at += chunk)
      output += masker.push(log.subarray(at, at + chunk)).length;
  output += masker.end().length;
  const { user, system } = process.threadCpuUsage(start);
  if (output >= log.length * mebibytes) throw new Error("no value was masked");
  return (log.length * mebibytes) / (user + system);
}

const repeats = Number(values.repeats);
const mebibytes = Number(values.mebibytes);
await using directory = await mkdtempDisposable(join(tmpdir(), "vaultsync-local-"));
const dist = join(root, "dist");
await buildProgram(dist);
const program = join(dist, "main.js");
await using vault = await VaultServerProcess.start(["--dev", "--dev-users", EMAIL]);
const { account, manifest } = await prepare(directory.path, vault);
const of = ["-f", manifest, "--account", account];
const commands = {
  "node -e 0": ["-e", "0"],
  "vaultsync --version": [program, "--version"],
  "vaultsync render --json": [program, "render", ...of, "--json"],
  "vaultsync run -- true": [program, "run", ...of, "--", "true"],
};
const times = await startTimes(commands, {}, repeats);
const starts = [...times].map(([command, samples]) => ({
  command,
  ...spreadOf(samples),
  least: quantile(
    samples.toSorted((a, b) => a - b),
    0,
  ),
}));
const rates = [1, 10, 100].map((count) => ({ values: count, rate: maskRate(count, mebibytes) }));

process.stdout.write(
  table([
    ["command", "median, ms", "IQR", "least"],
    ...starts.map(({ command, median, iqr, least }) => [
      command,
      median.toFixed(0),
      iqr.toFixed(0),
      least.toFixed(0),
    ]),
  ]),
);
process.stdout.write(
  `\n${table([["masked values", "MB/s of CPU time"], ...rates.map(({ values: count, rate }) => [String(count), rate.toFixed(0)])])}`,
);
await saveResult("local", { repeats, mebibytes }, { starts, rates });
