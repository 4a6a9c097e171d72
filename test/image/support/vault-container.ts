import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setDefaultCACertificates, getCACertificates } from "node:tls";
import { account } from "../../../scripts/demo/vault-account.ts";
import { timeToReady, type StartTime } from "../../../scripts/image/start-time.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { certificate } from "../../lab/certificates.ts";
import { docker } from "../../lab/docker/docker.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { ConfinedContainer } from "./confined-container.ts";

/** Returns a non-loopback address of this machine: the operator would reject the loopback one. */
function address(): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === "IPv4" && !each.internal);
  if (found === undefined)
    throw new Error("this machine has no address but loopback: connect it to a network");
  return found.address;
}

/**
 * `vault serve` in a container, on https with a certificate of a test authority. This process
 * trusts that authority from then on. The data and the master key are in a Docker volume with one
 * account. Disposing it removes everything.
 */
export class VaultContainer implements AsyncDisposable {
  readonly url: string;
  readonly metricsUrl: string;
  readonly #authority = certificate("test authority");
  readonly password = new Redacted(randomBytes(18).toString("base64url"));
  readonly #image: string;
  readonly #volume = `vaultsync-test-${randomBytes(6).toString("hex")}`;
  readonly #certificates: string;
  #container: ConfinedContainer | undefined;

  private constructor(image: string, url: string, metricsUrl: string, directory: string) {
    this.#image = image;
    this.url = url;
    this.metricsUrl = metricsUrl;
    this.#certificates = join(directory, this.#volume);
  }

  /** Creates key and account, without starting the server. `directory` is for the certificate. */
  static async create(image: string, directory: string): Promise<VaultContainer> {
    const url = `https://${address()}:${await freePort()}`;
    const vault = new VaultContainer(image, url, `http://127.0.0.1:${await freePort()}`, directory);
    await vault.#writeCertificate();
    await vault.#command(["key", "generate", "/data/master.key"]);
    const data = ["--data", "/data/vault.db", "--master-key-file", "/data/master.key"];
    await vault.#command(["user", "add", account, ...data], `${vault.password.reveal()}\n`);
    return vault;
  }

  async #writeCertificate(): Promise<void> {
    const { cert, keyPem } = certificate("vault", {
      issuer: this.#authority,
      hosts: [new URL(this.url).hostname],
    });
    await mkdir(this.#certificates, { mode: 0o755 });
    await writeFile(join(this.#certificates, "tls.crt"), cert);
    // The container's user is none of this machine.
    await writeFile(join(this.#certificates, "tls.key"), keyPem, { mode: 0o644 });
    setDefaultCACertificates([...getCACertificates("default"), this.ca]);
  }

  /** Runs a command of the vault on the volume, as confined as the server. */
  async #command(args: readonly string[], input = ""): Promise<void> {
    const confined = [
      "--read-only",
      "--cap-drop=ALL",
      "--security-opt=no-new-privileges",
      `--volume=${this.#volume}:/data`,
    ];
    await docker(
      [
        "run",
        "--rm",
        "--interactive",
        "--network=none",
        ...confined,
        this.#image,
        "vault",
        ...args,
      ],
      { input },
    );
  }

  /** Certificate of the authority, as PEM. */
  get ca(): string {
    return this.#authority.cert;
  }

  get container(): ConfinedContainer {
    if (this.#container === undefined) throw new Error("the vault is not started");
    return this.#container;
  }

  /** Starts the server, or starts a new one on the same volume after `container.stop()`. */
  async start(): Promise<StartTime> {
    await this.#container?.[Symbol.asyncDispose]();
    const started = performance.now();
    this.#container = await ConfinedContainer.start({
      image: this.#image,
      command: [
        "vault",
        "serve",
        "--data=/data/vault.db",
        "--master-key-file=/data/master.key",
        `--listen=${new URL(this.url).host}`,
        `--metrics-listen=${new URL(this.metricsUrl).host}`,
        "--tls-cert-file=/certificates/tls.crt",
        "--tls-key-file=/certificates/tls.key",
      ],
      mounts: [
        { source: this.#volume, target: "/data" },
        { source: this.#certificates, target: "/certificates", mode: "ro" },
      ],
    });
    return timeToReady(this.url, started);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#container?.[Symbol.asyncDispose]();
    await docker(["volume", "rm", "--force", this.#volume]);
  }
}
