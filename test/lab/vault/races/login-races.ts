import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../../src/protocol/operation-paths.ts";
import { scopeString, VaultClient } from "../vault-client.ts";
import { Closed } from "./race-ledger.ts";
import type { RaceServers } from "./race-servers.ts";

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
