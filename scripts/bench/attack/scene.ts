import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { openStore } from "../../../src/vault/server/store/open-store.ts";
import type { Store } from "../../../src/vault/server/store/store.ts";
import { VaultServerProcess } from "../../../test/lab/real/processes/vault-server-process.ts";
import {
  addAccounts as addToStore,
  StoreLocation,
  type StoreKind,
} from "../../../test/lab/vault/store-location.ts";
import { accountEmail, accountNames, type AttackCase, type Site } from "./attack-case.ts";
import { Attacker } from "./attacker.ts";
import { cases } from "./cases.ts";
import { OrdinaryClients } from "./ordinary-clients.ts";
import { openProbe, type OpenProbe } from "./measure-case.ts";
import { probeArgs } from "./server-load.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import { prepared } from "./patient.ts";

/** First loopback address of a case. Ordinary clients have lower addresses. */
const FIRST_ADDRESS = 100;

/** Returns the server as the case of an index sees it. Passwords are the emails. */
export function logInAs(url: string, caseName: string, index: number): Site {
  return {
    url,
    logIn: async (account) => {
      // The requests of a probe do not wait for each other.
      const client = new VaultClient(url, accountEmail(caseName, account), {
        keepAlive: account !== "owner",
      });
      await prepared(() => client.logIn(client.email));
      return client;
    },
    address: (number) => `127.0.${index}.${FIRST_ADDRESS + number}`,
  };
}

/** Heap of Node in the container of deploy/vault, whose limit is 512 MiB. */
const HEAP_MIB = 256;
/** Time in which a server that dies exits. */
const DEATH_MS = 5_000;

export interface SceneOptions {
  readonly store: StoreKind;
  readonly clients: number;
  readonly nice: number;
  /** Path of the `main` file of another build of the server. */
  readonly program: string | undefined;
}

/**
 * Opens the store of a server with the code of its build, because its database may be of an older
 * release.
 */
async function openWith(program: string | undefined, place: StoreLocation): Promise<Store> {
  if (program === undefined) return place.open();
  const module = join(dirname(program), `vault/server/store/open-store${extname(program)}`);
  const build = (await import(pathToFileURL(module).href)) as {
    readonly openStore: typeof openStore;
  };
  // Earlier builds authenticate no rows.
  return build.openStore.length < 2 ? build.openStore(place.data) : place.open(build.openStore);
}

/** Adds accounts whose password is their email. */
async function addAccounts(
  program: string | undefined,
  place: StoreLocation,
  emails: readonly string[],
): Promise<void> {
  await using store = await openWith(program, place);
  await addToStore(store, emails);
}

/**
 * A server with ordinary clients, next to whom cases attack. Disposing it ends everything that it
 * started.
 */
export class Scene implements AsyncDisposable {
  readonly server: VaultServerProcess;
  readonly clients: OrdinaryClients;
  readonly attacker: Attacker;
  readonly probes: readonly OpenProbe[];
  readonly #auditLog: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    parts: Pick<Scene, "server" | "clients" | "attacker" | "probes">,
    auditLog: string,
    owned: AsyncDisposableStack,
  ) {
    ({
      server: this.server,
      clients: this.clients,
      attacker: this.attacker,
      probes: this.probes,
    } = parts);
    this.#auditLog = auditLog;
    this.#owned = owned;
  }

  /** @param owned receives everything that is started, as soon as it runs */
  static async start(
    attacks: readonly AttackCase[],
    options: SceneOptions,
    owned: AsyncDisposableStack,
  ): Promise<Scene> {
    const { store, clients: count, program, nice } = options;
    const place = owned.use(await StoreLocation.create(store));
    const emails = Array.from({ length: count }, (_, index) => `client${index}@example.com`);
    const ofCases = attacks.flatMap(({ name }) =>
      accountNames.map((account) => accountEmail(name, account)),
    );
    await addAccounts(program, place, [...emails, ...ofCases]);
    const [first] = attacks;
    const serverArgs = attacks.length === 1 ? (first?.serverArgs ?? []) : [];
    const nodeArgs = [...probeArgs, `--max-old-space-size=${HEAP_MIB}`];
    const server = owned.use(
      await VaultServerProcess.start([...place.args, ...serverArgs], { nodeArgs, program }),
    );
    const clients = owned.use(await OrdinaryClients.open(server.url, emails));
    const probes: OpenProbe[] = [];
    for (const { name, probe } of attacks)
      if (probe)
        probes.push(
          await openProbe(
            probe,
            logInAs(
              server.url,
              name,
              cases.findIndex((each) => each.name === name),
            ),
          ),
        );
    const names = attacks.map(({ name }) => name);
    const attacker = owned.use(await Attacker.start(server.url, names, nice));
    const auditLog = place.args[place.args.indexOf("--audit-log") + 1] ?? "";
    return new Scene({ server, clients, attacker, probes }, auditLog, owned);
  }

  /** Returns the length of the audit log with all its segments, in bytes. */
  async auditBytes(): Promise<number> {
    const directory = dirname(this.#auditLog);
    const files = (await readdir(directory)).filter((name) =>
      name.startsWith(basename(this.#auditLog)),
    );
    const sizes = await Promise.all(
      files.map(async (name) => (await stat(join(directory, name))).size),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Returns how the server died, soon after a request failed, or `undefined` while it runs. */
  async death(): Promise<string | undefined> {
    const ended = await Promise.race([this.server.result, sleep(DEATH_MS)]);
    if (!ended) return undefined;
    const reason = /JavaScript heap out of memory/u.exec(ended.stderr)?.[0];
    return `the server died${reason === undefined ? ` with code ${ended.code}` : `: ${reason}`}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
