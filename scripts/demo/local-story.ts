import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VaultServerProcess } from "../../test/lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { bold, good, screen, seconds, indented, showCommand, showRun } from "./output.ts";
import { type Preparation, stoppingWithParent } from "./preparation.ts";
import { account, newValue } from "./vault-account.ts";

const MANIFEST = "shop-db.yaml";
/** Time for the program to have both versions, in ms. */
const LIMIT_MS = 60_000;

/** The same for a cluster, with the address of the vault and the name of the secret there. */
const manifest = (url: string, key: string): string => `apiVersion: vaultsync.dev/v1alpha1
kind: VaultConnection
metadata: { name: vault, namespace: shop }
spec:
  url: ${url}
  email: ${account}
  auth: { passwordSecretRef: { name: vault-login } }
---
apiVersion: vaultsync.dev/v1alpha1
kind: VaultSecret
metadata: { name: shop-db, namespace: shop }
spec:
  connectionRef: { name: vault }
  data:
    - secretKey: DB_PASSWORD
      remoteRef: { key: ${key} }
`;

/** A program that shows its password, and how it differs from another one. */
const APP = `const password = process.env.DB_PASSWORD ?? "";
const digest = require("node:crypto").createHash("sha256").update(password).digest("hex");
console.log("app: connected with " + password + ", sha256 " + digest.slice(0, 8));
setInterval(() => undefined, 1_000);`;

/** A directory with the manifest and the login, and the commands that are run there. */
class Workspace {
  readonly #directory: string;
  readonly #preparation: Preparation;
  /** Node keeps what it compiled, so each command starts in half the time. */
  readonly #env: NodeJS.ProcessEnv;

  constructor(directory: string, preparation: Preparation) {
    this.#directory = directory;
    this.#preparation = preparation;
    this.#env = {
      VAULTSYNC_ACCOUNT: join(directory, "account.json"),
      NODE_COMPILE_CACHE: join(directory, "cache"),
      XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"],
    };
  }

  write(text: string): Promise<void> {
    return writeFile(this.#path, text);
  }

  /** Starts a command, with its arguments as a user writes them. */
  start(args: readonly string[], input = ""): VaultsyncProcess {
    this.#preparation.signal.throwIfAborted();
    const all = args.map((arg) => (arg === MANIFEST ? this.#path : arg));
    return this.#preparation.own(new VaultsyncProcess(all, { env: this.#env, input }));
  }

  /** Runs a command and prints it with its output. @throws Error unless it exits like this */
  async run(args: readonly string[], { input = "", code = 0 } = {}): Promise<void> {
    await showRun(args, this.start(args, input), { code, shown: (text) => this.shown(text) });
  }

  /** Returns output with paths in the directory, as in the commands. */
  shown(output: string): string {
    return output.replaceAll(`${this.#directory}/`, "");
  }

  get #path(): string {
    return join(this.#directory, MANIFEST);
  }
}

const title = (text: string): void => screen.note(`\n${bold(text)}`);

/**
 * Shows the first minute without a cluster: a vault in memory, a mistake in a manifest, a program
 * with its values, and a new version.
 */
export async function runLocalStory(preparation: Preparation): Promise<void> {
  const start = performance.now();
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-demo-"));
  preparation.own({
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  });
  const workspace = new Workspace(directory, preparation);
  title("A vault on this machine");
  const args = ["--dev", "--dev-users", account];
  const log = stoppingWithParent(join(directory, "vault.log"));
  const vault = preparation.run("vault", await VaultServerProcess.start(args, log));
  screen.note(`  ${vault.url}, in memory, with the account ${account}`);
  const login = ["login", "--url", vault.url, "--email", account];
  await workspace.run(login, { input: vault.passwords.get(account) ?? "" });
  await workspace.run(["secret", "set", "shop/db"], { input: newValue().reveal() });

  title(`A manifest for the cluster, with a mistake in it: ${MANIFEST}`);
  const mistaken = manifest(vault.url, "shop/bd");
  await workspace.write(mistaken);
  screen.note(indented(mistaken));
  await workspace.run(["plan", "-f", MANIFEST], { code: 3 });

  title("The same manifest without the mistake, and what the operator would write");
  await workspace.write(manifest(vault.url, "shop/db"));
  await workspace.run(["plan", "-f", MANIFEST]);
  const values = join(directory, "values");
  await workspace.run(["render", "-f", MANIFEST, "--dir", values]);
  const { size } = await stat(join(values, "shop-db", "DB_PASSWORD"));
  screen.note(`  values/shop-db/DB_PASSWORD: ${size} bytes`);

  title("A program with the values of the manifest: a new version restarts it");
  await runApp(workspace);
  const took = seconds(performance.now() - start);
  screen.note(`\n${good("✓")} All of it took ${took}, without a cluster.`);
}

/** Calls `end` after this time, unless disposed before. */
function afterMs(ms: number, end: () => void): Disposable {
  const timer = setTimeout(end, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Starts the program, creates a version, and waits until the program has it. */
async function runApp(workspace: Workspace): Promise<void> {
  const options = ["-f", MANIFEST, "--watch", "--interval", "1", "--mask"];
  showCommand(["run", ...options, "--", "node", "app.js"]);
  await using app = workspace.start(["run", ...options, "--", process.execPath, "-e", APP]);
  using _limit = afterMs(LIMIT_MS, () => void app.stop("SIGKILL"));
  /** Waits until the program has started so often, and returns its last line. */
  const started = (count: number): Promise<string> =>
    app.waitForOutput(({ stdout }) => stdout.match(/^app: .*$/gmu)?.[count - 1]);
  screen.note(indented(await started(1)));
  await workspace.run(["secret", "set", "shop/db"], { input: newValue().reveal() });
  const last = await started(2);
  screen.note(indented(`${app.stderr}${last}`));
  await app.stop("SIGTERM");
}
