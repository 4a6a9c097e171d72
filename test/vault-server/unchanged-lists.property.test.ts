import * as fc from "fast-check";
import { expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const DAY = 86_400_000;
const emails = ["ann@example.com", "bob@example.com", "cid@example.com"];
const team = "crew";

/** The users of a vault and its clock. */
interface Users {
  readonly clients: readonly VaultClient[];
  readonly clock: VirtualClock;
}

type Step = readonly [label: string, take: (users: Users) => Promise<unknown> | void];

const clientIndex = fc.nat({ max: emails.length - 1 });
const name = fc.constantFrom("one", "one", "one", "two");

/**
 * Generates one request by one client about another one. Many are rejected: a rejected request must
 * not change a list either.
 */
function request(
  label: string,
  send: (caller: VaultClient, other: VaultClient, key: string) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return fc
    .tuple(clientIndex, clientIndex, name)
    .map(([caller, other, key]) => [
      `${label} ${key} by ${caller} about ${other}`,
      ({ clients }) => send(clients[caller]!, clients[other]!, key),
    ]);
}

const grant = (caller: VaultClient, more: object) => ({
  usr_id_from: caller.email,
  permission: "R",
  ...more,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  request("protect", (caller, _, key_name) => caller.call("protect", { key_name, key_value: "v" })),
  request("short-lived", (caller, _, key_name) =>
    caller.call("protect", { key_name, key_value: "v", delete_time: 2 }),
  ),
  request("soon expired", (caller, _, key_name) =>
    caller.call("protect", { key_name, key_value: "v", metadata: { expiration_time: 1 } }),
  ),
  request("link", (caller, { email: owner }, key_name) =>
    caller.call("protect_link", { key_name, key_value: "v", owner, without_list: 1 }),
  ),
  request("metadata", (caller, { email: owner }, key_name) =>
    caller.call("update_key_metadata", {
      key_name,
      owner,
      key_version: 1,
      metadata: { description: "changed" },
    }),
  ),
  request("delete version", (caller, _, key_name) =>
    caller.call("version_delete", { key_name, key_version: 2 }),
  ),
  request("delete", (caller, _, key_name) => caller.call("delete", { key_name })),
  request("share", (caller, { email }, key_name) =>
    caller.call("share", grant(caller, { key_name, usr_id_to: email })),
  ),
  request("share with team", (caller, _, key_name) =>
    caller.call("share", grant(caller, { key_name, group_id_to: team })),
  ),
  request("unshare", (caller, { email }, key_name) =>
    caller.call("unshare", { key_name, usr_id_to: email }),
  ),
  request("unshare with team", (caller, _, key_name) =>
    caller.call("unshare", { key_name, group_id_to: team }),
  ),
  request("dismiss", (caller, { email: owner }, key_name) =>
    caller.call("delete_shared_key_link", { key_name, owner }),
  ),
  request("team", (caller, { email }) =>
    caller.call("team_create", { group_id: team, members: [email] }),
  ),
  request("join", (caller, { email }) =>
    caller.call("team_add_members", { group_id: team, members: [email] }),
  ),
  request("leave", (caller, { email }) =>
    caller.call("team_remove_members", { group_id: team, members: [email] }),
  ),
  request("disband", (caller) => caller.call("team_delete", { group_id: team })),
  // The sweeper runs after some of the deadlines only.
  fc
    .constantFrom(1000, 60_000, DAY)
    .map((ms): Step => [`${ms} ms pass`, ({ clock }) => clock.stepWall(ms)]),
  fc.constant<Step>(["the sweeper runs", ({ clock }) => clock.advance(10_000)]),
);

/** Initial state: there is something to remove. */
const start: readonly Step[] = [
  ["one", ({ clients: [ann] }) => ann!.call("protect", { key_name: "one", key_value: "v" })],
  [
    "crew",
    ({ clients: [ann, bob] }) =>
      ann!.call("team_create", { group_id: team, members: [bob!.email] }),
  ],
  [
    "to crew",
    ({ clients: [ann] }) => ann!.call("share", grant(ann!, { key_name: "one", group_id_to: team })),
  ],
  [
    "to cid",
    ({ clients: [ann, , cid] }) =>
      ann!.call("share", grant(ann!, { key_name: "one", usr_id_to: cid!.email })),
  ],
];

test("list_no_dup responds 304 exactly when the list is unchanged, after any operations and time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30, size: "max" }), async (more) => {
      const clock = new VirtualClock();
      await using vault = await TestVault.start({
        emails,
        clock,
        limits: { requestsPerSecond: 1e6, requestBurst: 1e6 },
      });
      const clients = await Promise.all(emails.map((email) => vault.client(email, undefined, 1e6)));
      const held = clients.map(() => ({ etag: "", body: "" }));
      for (const [label, take] of [...start, ...more]) {
        const timers = clock.pending;
        await take({ clients, clock });
        // A sweep is over when its next one is set; until then it may change lists by itself.
        await waitUntil("the end of sweeps", () => clock.pending >= timers);
        for (const [index, caller] of clients.entries()) {
          const asking = { "if-none-match": held[index]!.etag };
          const polled = await caller.call("list_no_dup", {}, asking);
          const full = await caller.call("list_no_dup");
          if (polled.status === 200)
            held[index] = { etag: polled.headers.etag ?? "", body: polled.bytes.toString() };
          expect(held[index]!.body, `${label} ${caller.email}`).toEqual(full.bytes.toString());
          const again = await caller.call(
            "list_no_dup",
            {},
            { "if-none-match": held[index]!.etag },
          );
          expect(again.status, `${label} ${caller.email}`).toBe(304);
        }
      }
    }),
    { numRuns: 12 },
  );
}, 120_000);
