import { setTimeout as sleep } from "node:timers/promises";
import type { VaultClient, VaultResponse } from "../vault-client.ts";
import { Closed } from "./race-ledger.ts";
import type { RaceServers } from "./race-servers.ts";

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
async function race(
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
  await race(scene, {
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
  await race(scene, {
    race: "team",
    grant: (round) => at(owner, round).call("team_add_members", member),
    revoke: (round) => at(owner, round + 1).call("team_remove_members", member),
    readers,
    read: (reader) => scene.ledger.read(reader, "expose_link", "of-team"),
  });
}

async function deletionRace(scene: RaceServers): Promise<void> {
  const clients = await scene.clients("eve@example.com");
  await race(scene, {
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
