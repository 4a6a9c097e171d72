import { setTimeout as sleep } from "node:timers/promises";
import { randomBytes, randomInt } from "node:crypto";
import { VaultClient, type VaultResponse } from "./vault-client.ts";
import type { StoreLocation } from "./store-location.ts";
import { VaultServerProcess } from "../real/processes/vault-server-process.ts";
import { messageOf } from "../../../src/lib/errors.ts";

export interface LoadResult {
  readonly clients: number;
  readonly seconds: number;
  readonly responses: number;
  /** Number of responses by operation and status. */
  readonly statuses: Readonly<Record<string, number>>;
  /**
   * Responses with a status other than 200 and 429 or with wrong data; `examples` describes some.
   */
  readonly wrong: number;
  readonly examples: readonly string[];
}

class Wrong extends Error {}

/** Orders distinct ASCII names. */
function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

function same(what: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Wrong(`${what} is not what was written`);
}

/** One simulated user, who verifies that responses match their own writes. */
class LoadUser {
  readonly client: VaultClient;
  readonly password: string;
  readonly #seen: (operation: string, status: number) => void;
  /** Acknowledged values by version. */
  readonly #secrets = new Map<string, Map<number, string>>();
  readonly #files = new Map<string, number>();
  /** All values sent for the shared secret. */
  readonly shared = new Set<string>();
  neighbor: LoadUser | undefined;

  constructor(
    client: VaultClient,
    password: string,
    seen: (operation: string, status: number) => void,
  ) {
    this.client = client;
    this.password = password;
    this.#seen = seen;
  }

  /** Returns the response, or `undefined` when it was rate-limited. */
  async #expectSuccess(
    operation: string,
    request: Promise<VaultResponse>,
  ): Promise<VaultResponse | undefined> {
    const response = await request;
    this.#seen(operation, response.status);
    if (response.status === 429) return undefined;
    if (response.status !== 200) throw new Wrong(`${operation} responded ${response.status}`);
    return response;
  }

  /**
   * Logs in and stores a shared secret. When all clients of a network log in simultaneously, some
   * are rate-limited or disconnected.
   */
  async start(): Promise<void> {
    while (!(await this.#isLoggedIn())) await sleep(500);
    await this.#expectSuccess(
      "protect",
      this.client.call("protect", { key_name: "shared", key_value: "first" }),
    );
    this.shared.add("first");
    const grant = {
      key_name: "shared",
      usr_id_from: this.client.email,
      usr_id_to: this.neighbor?.client.email,
      permission: "R",
    };
    await this.#expectSuccess("share", this.client.call("share", grant));
  }

  async #isLoggedIn(): Promise<boolean> {
    try {
      return (
        (await this.#expectSuccess("generate_access_token", this.client.logIn(this.password))) !==
        undefined
      );
    } catch (error) {
      if (error instanceof Wrong) throw error;
      return false;
    }
  }

  async #protect(): Promise<void> {
    const name = `s${randomInt(4)}`;
    const value = randomBytes(randomInt(1, 500)).toString("hex");
    const response = await this.#expectSuccess(
      "protect",
      this.client.call("protect", { key_name: name, key_value: value }),
    );
    const version = response?.json().secret.key_version;
    const versions = this.#secrets.get(name) ?? new Map<number, string>();
    if (response) same("the version's number", version, versions.size + 1);
    if (response) this.#secrets.set(name, versions.set(version, value));
  }

  async #expose(): Promise<void> {
    for (const [name, versions] of [...this.#secrets].slice(0, 1)) {
      const latest = await this.#expectSuccess(
        "expose",
        this.client.call("expose", { key_name: name }),
      );
      if (latest) same("the latest value", latest.json().key_value, versions.get(versions.size));
      const version = randomInt(versions.size) + 1;
      const older = await this.#expectSuccess(
        "version_expose",
        this.client.call("version_expose", { key_name: name, key_version: version }),
      );
      if (older) same("a version's value", older.json().key_value, versions.get(version));
    }
  }

  async #list(): Promise<void> {
    const list = await this.#expectSuccess("list_no_dup", this.client.call("list_no_dup"));
    const own = list
      ?.json()
      .secrets.filter(({ key_name }: { key_name: string }) => key_name !== "shared");
    const pairs = own?.map(
      ({ key_name, key_version }: { key_name: string; key_version: number }) => [
        key_name,
        key_version,
      ],
    );
    if (pairs)
      same(
        "the list",
        pairs,
        [...this.#secrets].map(([name, { size }]) => [name, size] as const).sort(byName),
      );
  }

  async #file(): Promise<void> {
    const filename = `f${randomInt(2)}`;
    const bytes = randomBytes(randomInt(1, 100_000));
    const uploaded = await this.#expectSuccess(
      "protect_file",
      this.client.upload([{ filename, bytes }]),
    );
    const { version } = uploaded?.json().files[0] ?? {};
    if (uploaded) same("the file's number", version, (this.#files.get(filename) ?? 0) + 1);
    if (!uploaded) return;
    this.#files.set(filename, version);
    const got = await this.#expectSuccess(
      "download_file",
      this.client.call("download_file", { filename, version }),
    );
    if (got) same("a file's bytes", got.bytes.toString("base64"), bytes.toString("base64"));
  }

  async #share(): Promise<void> {
    const value = randomBytes(16).toString("hex");
    this.shared.add(value);
    const link = {
      key_name: "shared",
      owner: this.client.email,
      key_value: value,
      without_list: 1,
    };
    await this.#expectSuccess("protect_link", this.client.call("protect_link", link));
  }

  /** Reads the secret that another user shares with this one. */
  async readShared(from: LoadUser): Promise<void> {
    const request = this.client.call("expose_link", {
      key_name: "shared",
      owner: from.client.email,
    });
    const response = await this.#expectSuccess("expose_link", request);
    if (response && !from.shared.has(response.json().key_value))
      throw new Wrong("a shared value is not what was written");
  }

  async step(): Promise<void> {
    const kind = randomInt(100);
    if (kind < 20) await this.#protect();
    else if (kind < 55) await this.#expose();
    else if (kind < 75) await this.#list();
    else if (kind < 82) await this.#file();
    else if (kind < 90) await this.#share();
    else if (kind < 98) await this.neighbor?.readShared(this);
    else await this.#expectSuccess("generate_access_token", this.client.logIn(this.password));
  }
}

/** Runs concurrent users for a number of seconds against a server with default limits. */
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
      if (examples.length < 10) examples.push(messageOf(error));
    }
  };
  const password = randomBytes(12).toString("hex");
  const emails = Array.from({ length: clients }, (_, index) => `p${index}@example.com`);
  await place.addAccounts(emails, password);
  await using server = await VaultServerProcess.start(place.args);
  const users = emails.map(
    (email) =>
      new LoadUser(new VaultClient(server.url, email, { keepAlive: true }), password, seen),
  );
  for (const [index, user] of users.entries()) user.neighbor = users[(index + 1) % clients];
  await Promise.all(users.map((user) => careful(user.start())));
  const end = performance.now() + seconds * 1000;
  await Promise.all(
    users.map(async (user) => {
      while (performance.now() < end) await careful(user.step());
    }),
  );
  for (const { client } of users) client[Symbol.dispose]();
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
