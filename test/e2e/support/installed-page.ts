import { cp, mkdtemp, writeFile, readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import type { PageCommand } from "../../lab/docs/commands.ts";
import { ShellProcess } from "../../lab/real/processes/shell-process.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { Kubelet } from "./kubelet.ts";

/**
 * A program `docker` that builds and pushes nothing: `build` requires `--tag` and a folder with a
 * Dockerfile, `push` an image that was built. It stands for Docker where no daemon runs; the tests
 * of the image need one.
 */
const program = `
const { appendFileSync, existsSync, readFileSync } = require("node:fs");
const [command, ...args] = process.argv.slice(2);
const fail = (text) => { console.error("docker: " + text); process.exit(1); };
const record = process.argv[1] + ".record";
const built = () => existsSync(record) ? readFileSync(record, "utf8").split("\\n") : [];
if (command === "build") {
  const [flag, tag, folder, ...more] = args;
  if (flag !== "--tag" || more.length > 0) fail("expected build --tag IMAGE FOLDER");
  if (!existsSync(folder + "/Dockerfile")) fail("no Dockerfile in " + folder);
  appendFileSync(record, "built " + tag + "\\n");
} else if (command === "push") {
  if (args.length !== 1 || !built().includes("built " + args[0])) fail(args.join(" ") + " was not built");
  appendFileSync(record, "pushed " + args[0] + "\\n");
} else fail("expected build or push, not " + command);
`;

class ImageRecorder {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Writes the program to a folder that is in the `PATH` of the commands. */
  static async install(folder: string): Promise<ImageRecorder> {
    const path = join(folder, "docker");
    await writeFile(path, `#!${process.execPath}\n${program}`, { mode: 0o755 });
    return new ImageRecorder(path);
  }

  /** Returns the pushed images. */
  async pushed(): Promise<ReadonlySet<string>> {
    const lines = (await readFile(`${this.#path}.record`, "utf8").catch(() => "")).split("\n");
    return new Set(lines.flatMap((line) => /^pushed (.+)$/u.exec(line)?.[1] ?? []));
  }
}

const root = join(import.meta.dirname, "..", "..", "..");
const account = "ops@example.com";

/**
 * Runs the commands of a page that installs the operator, in a folder with a copy of what the page
 * names. Docker is a recorder, and a Kubelet runs what the control plane schedules on no node.
 * Disposing it removes the operator and the namespace `shop`.
 */
export class InstalledPage implements AsyncDisposable {
  /** The value of the vault's secret `shop-db`. */
  readonly value: string;
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #vault: TestVault;
  readonly #plane: ControlPlane;
  readonly #kubelet: Kubelet;

  private constructor(
    plane: ControlPlane,
    folder: string,
    env: NodeJS.ProcessEnv,
    vault: TestVault,
    images: ImageRecorder,
  ) {
    this.#plane = plane;
    this.#folder = folder;
    this.#env = env;
    this.#vault = vault;
    this.#kubelet = new Kubelet(plane, "vaultsync-system", () => images.pushed());
    this.value = `value of ${folder}`;
  }

  static async start(
    plane: ControlPlane,
    directory: string,
    env: NodeJS.ProcessEnv,
  ): Promise<InstalledPage> {
    const folder = await mkdtemp(join(directory, "page-"));
    for (const name of ["crds", "deploy", "Dockerfile"]) {
      await cp(join(root, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
    }
    const images = await ImageRecorder.install(folder);
    const vault = await TestVault.start({ emails: [account] });
    const { PATH = "" } = env;
    const page = new InstalledPage(
      plane,
      folder,
      { ...env, PATH: [folder, PATH].join(delimiter) },
      vault,
      images,
    );
    await page.#prepare();
    return page;
  }

  async #prepare(): Promise<void> {
    const client = await this.#vault.client(account);
    const { status } = await client.call("protect", { key_name: "shop-db", key_value: this.value });
    if (status !== 200) throw new Error(`protect: ${status}`);
    await writeFile(join(this.#folder, "FILE"), this.#vault.passwords.get(account) ?? "", {
      mode: 0o600,
    });
  }

  /** Writes a manifest of a page, with the address of the vault. */
  async writeFile(name: string, manifest: string): Promise<void> {
    if (!manifest.includes("https://vault.example.com"))
      throw new Error(`no address of a vault:\n${manifest}`);
    await writeFile(
      join(this.#folder, name),
      manifest.replace("https://vault.example.com", this.#vault.url),
    );
  }

  /** Runs the commands in order. @throws Error with the output of the first one that fails */
  async run(commands: readonly PageCommand[]): Promise<void> {
    for (const { command } of commands) {
      if (command.startsWith("kubectl rollout status ")) await this.#kubelet.startPods();
      await this.#shell(command);
    }
  }

  /** Returns the key `password` of a Secret in the namespace `shop`. */
  async passwordOf(secret: string): Promise<string> {
    const { body } = await this.#plane.request("GET", `/api/v1/namespaces/shop/secrets/${secret}`);
    const { data } = z.object({ data: z.object({ password: z.string() }) }).parse(JSON.parse(body));
    return Buffer.from(data.password, "base64").toString();
  }

  async #shell(command: string): Promise<void> {
    await using shell = new ShellProcess(command, { cwd: this.#folder, env: this.#env });
    await shell.succeed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kubelet.stopPods();
    await this.#vault[Symbol.asyncDispose]();
    await this.#shell(
      "kubectl delete --ignore-not-found -k deploy/base && kubectl delete --ignore-not-found namespace shop",
    );
  }
}
