import { randomBytes, randomInt } from "node:crypto";
import { Redacted } from "../../../src/lib/redacted.ts";
import { openStore } from "../../../src/vault-server/store/open-store.ts";
import { addUser } from "../../../src/vault-server/accounts/users.ts";
import { VaultClient, type VaultResponse } from "./vault-client.ts";
import type { StoreLocation } from "./store-location.ts";
import { VaultServerProcess } from "../processes/vault-server-process.ts";

const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 };

export interface LoadResult {
  readonly clients: number;
  readonly seconds: number;
  readonly responses: number;
  /** By operation and status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Answers with another status than 200 or 429, or with something else than what was written; some of them, told. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

class Wrong extends Error {}

/** Both names are ASCII and different. */
function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function same(what: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Wrong(`${what} is not what was written`);
}

/** One person, who knows what they have written and looks whether it is what they get. */
class Person {
  readonly client: VaultClient;
  readonly password: string;
  readonly #seen: (operation: string, status: number) => void;
  /** Values by version; a version that was sent and not answered is not in it. */
  readonly #secrets = new Map<string, Map<number, string>>();
  readonly #files = new Map<string, number>();
  /** Every value of the shared secret that was ever sent. */
  readonly shared = new Set<string>();
  neighbour: Person | undefined;

  constructor(client: VaultClient, password: string, seen: (operation: string, status: number) => void) {
    this.client = client;
    this.password = password;
    this.#seen = seen;
  }

  /** The answer, or `undefined` where a limit was met. */
  async #answered(operation: string, asked: Promise<VaultResponse>): Promise<VaultResponse | undefined> {
    const answer = await asked;
    this.#seen(operation, answer.status);
    if (answer.status === 429) return undefined;
    if (answer.status !== 200) throw new Wrong(`${operation} answered ${answer.status}`);
    return answer;
  }

  async start(): Promise<void> {
    await this.#answered("generate_access_token", this.client.logIn(this.password));
    await this.#answered("protect", this.client.call("protect", { key_name: "shared", key_value: "first" }));
    this.shared.add("first");
    const grant = {
      key_name: "shared",
      usr_id_from: this.client.email,
      usr_id_to: this.neighbour?.client.email,
      permission: "R",
    };
    await this.#answered("share", this.client.call("share", grant));
  }

  async #protect(): Promise<void> {
    const name = `s${randomInt(4)}`;
    const value = randomBytes(randomInt(1, 500)).toString("hex");
    const answer = await this.#answered("protect", this.client.call("protect", { key_name: name, key_value: value }));
    const version = answer?.json().secret.key_version;
    const versions = this.#secrets.get(name) ?? new Map<number, string>();
    if (answer) same("the version's number", version, versions.size + 1);
    if (answer) this.#secrets.set(name, versions.set(version, value));
  }

  async #expose(): Promise<void> {
    for (const [name, versions] of [...this.#secrets].slice(0, 1)) {
      const latest = await this.#answered("expose", this.client.call("expose", { key_name: name }));
      if (latest) same("the latest value", latest.json().key_value, versions.get(versions.size));
      const version = randomInt(versions.size) + 1;
      const older = await this.#answered(
        "version_expose",
        this.client.call("version_expose", { key_name: name, key_version: version }),
      );
      if (older) same("a version's value", older.json().key_value, versions.get(version));
    }
  }

  async #list(): Promise<void> {
    const list = await this.#answered("list_no_dup", this.client.call("list_no_dup"));
    const own = list?.json().secrets.filter(({ key_name }: { key_name: string }) => key_name !== "shared");
    const pairs = own?.map(({ key_name, key_version }: { key_name: string; key_version: number }) => [key_name, key_version]);
    if (pairs) same("the list", pairs, [...this.#secrets].map(([name, { size }]) => [name, size] as const).sort(byName));
  }

  async #file(): Promise<void> {
    const filename = `f${randomInt(2)}`;
    const bytes = randomBytes(randomInt(1, 100_000));
    const uploaded = await this.#answered("protect_file", this.client.upload([{ filename, bytes }]));
    const { version } = uploaded?.json().files[0] ?? {};
    if (uploaded) same("the file's number", version, (this.#files.get(filename) ?? 0) + 1);
    if (!uploaded) return;
    this.#files.set(filename, version);
    const got = await this.#answered("download_file", this.client.call("download_file", { filename, version }));
    if (got) same("a file's bytes", got.bytes.toString("base64"), bytes.toString("base64"));
  }

  async #share(): Promise<void> {
    const value = randomBytes(16).toString("hex");
    this.shared.add(value);
    const link = { key_name: "shared", owner: this.client.email, key_value: value, without_list: 1 };
    await this.#answered("protect_link", this.client.call("protect_link", link));
  }

  /** Of whoever shares with this one. */
  async readShared(from: Person): Promise<void> {
    const asked = this.client.call("expose_link", { key_name: "shared", owner: from.client.email });
    const answer = await this.#answered("expose_link", asked);
    if (answer && !from.shared.has(answer.json().key_value)) throw new Wrong("a shared value is not what was written");
  }

  async step(): Promise<void> {
    const kind = randomInt(100);
    if (kind < 20) await this.#protect();
    else if (kind < 55) await this.#expose();
    else if (kind < 75) await this.#list();
    else if (kind < 82) await this.#file();
    else if (kind < 90) await this.#share();
    else if (kind < 98) await this.neighbour?.readShared(this);
    else await this.#answered("generate_access_token", this.client.logIn(this.password));
  }
}

async function addPeople(data: string, emails: readonly string[], password: string): Promise<void> {
  await using store = await openStore(data);
  for (const email of emails) await addUser(store, email, new Redacted(password), Date.now(), CHEAP);
}

/** So many people at once, each doing one thing after another for so long on a server with its ordinary limits. */
export async function runLoad(
  place: StoreLocation,
  { clients, seconds }: { clients: number; seconds: number },
): Promise<LoadResult> {
  const statuses = new Map<string, number>();
  const seen = (operation: string, status: number): void => {
    const key = `${operation} ${status}`;
    statuses.set(key, (statuses.get(key) ?? 0) + 1);
  };
  const examples: string[] = [];
  let wrong = 0;
  const careful = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      wrong += 1;
      if (examples.length < 10) examples.push(error instanceof Error ? error.message : "failed");
    }
  };
  const password = randomBytes(12).toString("hex");
  const emails = Array.from({ length: clients }, (_, index) => `p${index}@example.com`);
  await addPeople(place.data, emails, password);
  await using server = await VaultServerProcess.start(place.args);
  const people = emails.map((email) => new Person(new VaultClient(server.url, email, { keepAlive: true }), password, seen));
  for (const [index, person] of people.entries()) person.neighbour = people[(index + 1) % clients];
  await Promise.all(people.map((person) => careful(person.start())));
  const end = performance.now() + seconds * 1000;
  await Promise.all(
    people.map(async (person) => {
      while (performance.now() < end) await careful(person.step());
    }),
  );
  for (const { client } of people) client[Symbol.dispose]();
  const sorted = Object.fromEntries([...statuses].sort(byName));
  return {
    clients,
    seconds,
    responses: [...statuses.values()].reduce((sum, count) => sum + count, 0),
    statuses: sorted,
    wrong,
    examples,
  };
}
