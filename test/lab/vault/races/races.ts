import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient, type VaultResponse, scopeString } from "../vault-client.ts";
import { Closed, type RaceServers } from "./race-servers.ts";
import { operationPath, type Operation } from "../../../../src/protocol/operation-paths.ts";
import { randomUUID } from "node:crypto";

interface Permission {
  readonly race: string;
  readonly grant: (round: number) => Promise<VaultResponse>;
  readonly revoke: (round: number) => Promise<VaultResponse>;
  readonly readers: readonly VaultClient[];
  readonly read: (reader: VaultClient) => Promise<VaultResponse>;
}

/**
 * Grants and revokes a permission while readers use it: once a revocation is acknowledged, none
 * succeeds.
 */
async function permissionRace(
  scene: RaceServers,
  { race: name, grant, revoke, readers, read }: Permission,
): Promise<void> {
  const closed = new Closed();
  const attempt = (reader: VaultClient): Promise<VaultResponse> =>
    scene.ledger.attempt(name, closed, () => read(reader));
  const change = scene.repeat(async (round) => {
    closed.end();
    await scene.ledger.attempt(name, closed, () => grant(round));
    if ((await revoke(round)).status !== 200) return;
    closed.begin();
    // Attempts that begin and end within the period.
    await Promise.all(readers.map(attempt));
  });
  const reading = readers.map((reader) => scene.repeat(() => attempt(reader)));
  await Promise.all([change, ...reading]);
}

const at = (clients: readonly VaultClient[], round: number): VaultClient =>
  clients[round % clients.length]!;

async function shareRace(scene: RaceServers): Promise<void> {
  const [owner, readers] = [
    await scene.clients("ann@example.com"),
    await scene.clients("bob@example.com"),
  ];
  await owner[0]!.call("protect", { key_name: "shared", key_value: "v" });
  const to = { key_name: "shared", usr_id_to: "bob@example.com" };
  await permissionRace(scene, {
    race: "share",
    grant: (round) =>
      at(owner, round).call("share", { ...to, usr_id_from: "ann@example.com", permission: "R" }),
    revoke: (round) => at(owner, round + 1).call("unshare", to),
    readers,
    read: (reader) => scene.ledger.read(reader, "expose_link", "shared"),
  });
}

async function teamRace(scene: RaceServers): Promise<void> {
  const [owner, readers] = [
    await scene.clients("cid@example.com"),
    await scene.clients("dan@example.com"),
  ];
  await owner[0]!.call("protect", { key_name: "of-team", key_value: "v" });
  await owner[0]!.call("team_create", { group_id: "members", members: [] });
  await owner[0]!.call("share", {
    key_name: "of-team",
    usr_id_from: "cid@example.com",
    group_id_to: "members",
    permission: "R",
  });
  const member = { group_id: "members", members: ["dan@example.com"] };
  await permissionRace(scene, {
    race: "team",
    grant: (round) => at(owner, round).call("team_add_members", member),
    revoke: (round) => at(owner, round + 1).call("team_remove_members", member),
    readers,
    read: (reader) => scene.ledger.read(reader, "expose_link", "of-team"),
  });
}

async function deletionRace(scene: RaceServers): Promise<void> {
  const clients = await scene.clients("eve@example.com");
  await permissionRace(scene, {
    race: "delete",
    async grant(round) {
      const response = await at(clients, round).call("protect", {
        key_name: "reborn",
        key_value: `v${round}`,
      });
      if (response.status === 200 && response.json().secret.key_version !== 1)
        scene.ledger.violated("delete: a recreated secret does not start at version 1");
      return response;
    },
    revoke: (round) => at(clients, round + 1).call("delete", { key_name: "reborn" }),
    readers: await scene.clients("eve@example.com"),
    read: (reader) => scene.ledger.read(reader, "expose", "reborn"),
  });
}

/** Time that a user keeps a team, in milliseconds. */
const HANDED_MS = 50;

/** Hands a team to and fro between two users who both change it: the former creator cannot. */
async function handOverRace(scene: RaceServers): Promise<void> {
  const creators = ["fay@example.com", "gus@example.com"] as const;
  const clients = [await scene.clients(creators[0]), await scene.clients(creators[1])] as const;
  await clients[0][0]!.call("team_create", { group_id: "handed", members: [creators[1]] });
  const closed = [new Closed(), new Closed()] as const;
  const handOver = async (from: 0 | 1, to: 0 | 1): Promise<void> => {
    closed[to].end();
    await scene.manager.handOverTeams(creators[from], creators[to]);
    closed[from].begin();
    scene.ledger.count("hand-over");
    // A command of another process may otherwise keep a SQLite file busy.
    await sleep(HANDED_MS);
  };
  const change = (who: 0 | 1): Promise<void>[] =>
    clients[who].map((client, server) =>
      scene.repeat((round) => {
        const operation = round % 2 === 0 ? "team_add_members" : "team_remove_members";
        const body = { group_id: "handed", members: [`member${who}${server}@example.com`] };
        return scene.ledger.attempt("team of a creator", closed[who], () =>
          client.call(operation, body),
        );
      }),
    );
  const handing = scene.repeat((round) => (round % 2 === 0 ? handOver(0, 1) : handOver(1, 0)));
  await Promise.all([handing, ...change(0), ...change(1)]);
}

export const permissionRaces = [shareRace, teamRace, deletionRace, handOverRace];

/**
 * Refreshes a login at all servers while it is revoked: none of its tokens is accepted afterwards.
 */
async function revocationRace(scene: RaceServers): Promise<void> {
  const email = "jon@example.com";
  const [main] = await scene.clients(email);
  await scene.repeat(async (round) => {
    const login = await new VaultClient(scene.urls[round % scene.urls.length]!, email).call(
      "generate_access_token",
      {
        password: email,
        scope: scopeString(),
        expiration_hours: 1,
      },
    );
    if (login.status !== 200) return sleep(100);
    const { access_token: used_access_token, refresh_token } = login.json();
    // The newest one comes first.
    const { tokens } = (await main!.call("token_list")).json();
    const refresh = (url: string) =>
      new VaultClient(url, email).post(operationPath.refresh_token, {
        refresh_token,
        used_access_token,
      });
    const [revoked, ...refreshed] = await Promise.all([
      main!.call("token_revoke", { id: tokens?.[0]?.id }),
      ...[...scene.urls, ...scene.urls].map(refresh),
    ]);
    if (revoked.status !== 200) return sleep(100);
    scene.ledger.count("revocation");
    const issued = refreshed
      .filter(({ status }) => status === 200)
      .map((response): string => response.json().access_token);
    for (const token of [used_access_token, ...issued]) {
      for (const url of scene.urls) {
        const { status } = await new VaultClient(url, email, { token }).call("list_no_dup");
        if (status === 200)
          scene.ledger.violated("revocation: a token of a revoked login was accepted");
      }
    }
    const again = await refresh(scene.urls[0]!);
    if (again.status === 200) scene.ledger.violated("revocation: a revoked login was refreshed");
    return undefined;
  });
}

/** Deletes users who are writing: nothing is written, or left, afterwards. */
async function userDeletionRace(scene: RaceServers): Promise<void> {
  await scene.repeat(async (round) => {
    const email = `writer${round}@example.com`;
    await scene.add(email);
    const closed = new Closed();
    const clients = await scene.clients(email);
    const writing = [...clients, ...clients].map(async (client, number) => {
      for (let version = 0; ; version += 1) {
        const body = { key_name: `name${number}-${version % 3}`, key_value: "v" };
        const { status } = await scene.ledger.attempt("writes of a deleted user", closed, () =>
          client.call("protect", body),
        );
        if (status === 401) return;
      }
    });
    await sleep(100);
    await scene.manager.delete(email);
    closed.begin();
    scene.ledger.count("deletion of a user");
    await Promise.all(writing);
    const left = await scene.store.read(({ secrets }) => secrets.listIds(email, Date.now()));
    if (left.length > 0) scene.ledger.violated("deletion of a user: secrets are left");
  });
}

export const loginRaces = [revocationRace, userDeletionRace];

type Acknowledged = Map<number, string>;

/** Versions whose values are compared at the end. */
const COMPARED = 20;

function acknowledge(
  scene: RaceServers,
  race: string,
  acknowledged: Acknowledged,
  version: number,
  value: string,
): void {
  scene.ledger.count(race);
  if (acknowledged.has(version))
    scene.ledger.violated(`${race}: version ${version} was acknowledged twice`);
  acknowledged.set(version, value);
}

/**
 * Time after a request that was rejected, for example by the rate of its login, in milliseconds.
 */
const REJECTED_MS = 50;

/** Repeats a request until it succeeds. */
async function served(
  client: VaultClient,
  operation: Operation,
  body: object,
): Promise<VaultResponse> {
  for (;;) {
    const response = await client.call(operation, body);
    if (response.status === 200) return response;
    await sleep(REJECTED_MS);
  }
}

/** Requires that the acknowledged versions are stored, without a gap. */
async function verify(
  scene: RaceServers,
  race: string,
  client: VaultClient,
  key_name: string,
  acknowledged: Acknowledged,
): Promise<void> {
  const listed: { key_version: number }[] = (
    await served(client, "version_list", { key_name })
  ).json().versions;
  if (listed.some(({ key_version }, index) => key_version !== index + 1))
    scene.ledger.violated(`${race}: versions have a gap`);
  if ([...acknowledged.keys()].some((version) => version > listed.length))
    scene.ledger.violated(`${race}: a version was lost`);
  for (const [key_version, value] of [...acknowledged].slice(-COMPARED)) {
    const exposed = await served(client, "version_expose", { key_name, key_version });
    if (exposed.json().key_value !== value)
      scene.ledger.violated(`${race}: version ${key_version} differs`);
  }
}

/** Returns the result of a race, and what is verified after it. */
type Race = (scene: RaceServers) => Promise<() => Promise<void>>;

const versionRace: Race = async (scene) => {
  const clients = [
    ...(await scene.clients("hal@example.com")),
    ...(await scene.clients("hal@example.com")),
  ];
  const acknowledged: Acknowledged = new Map();
  await Promise.all(
    clients.map((client) =>
      scene.repeat(async () => {
        const value = randomUUID();
        const response = await client.call("protect", { key_name: "counted", key_value: value });
        if (response.status !== 200) return sleep(REJECTED_MS);
        return acknowledge(
          scene,
          "versions",
          acknowledged,
          response.json().secret.key_version,
          value,
        );
      }),
    ),
  );
  return () => verify(scene, "versions", clients[0]!, "counted", acknowledged);
};

const expectedVersionRace: Race = async (scene) => {
  const clients = [
    ...(await scene.clients("ida@example.com")),
    ...(await scene.clients("ida@example.com")),
  ];
  const acknowledged: Acknowledged = new Map();
  await Promise.all(
    clients.map((client) =>
      scene.repeat(async () => {
        const expected_version = Math.max(0, ...acknowledged.keys());
        const value = randomUUID();
        const response = await client.call("protect", {
          key_name: "expected",
          key_value: value,
          expected_version,
        });
        if (response.status !== 200) return sleep(response.status === 409 ? 0 : REJECTED_MS);
        const version: number = response.json().secret.key_version;
        if (version !== expected_version + 1)
          scene.ledger.violated(`expected_version: ${version} follows ${expected_version}`);
        return acknowledge(scene, "expected_version", acknowledged, version, value);
      }),
    ),
  );
  return () => verify(scene, "expected_version", clients[0]!, "expected", acknowledged);
};

export const writeRaces = [versionRace, expectedVersionRace];
