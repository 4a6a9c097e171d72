import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  changeTeam,
  createTeam,
  deleteTeam,
  emailOf,
  isUser,
  PermissionModel,
  names,
  users,
  protect,
  dismissShare,
  remove,
  shareWithUser,
  shareWithTeam,
  teams,
  unshare,
  type From,
  type Name,
  type Permission,
  type User,
  type Step,
  type Run,
} from "../lab/vault/permission-model.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient, VaultResponse } from "../lab/vault/vault-client.ts";

// Some are more frequent: steps affect each other.
const anyUser = fc.constantFrom(...users, "ann" as const, "ann" as const, "bob" as const);
const anyName = fc.constantFrom(...names, "one" as const, "one" as const);
const anyTeam = fc.constantFrom(...teams, "red" as const, "red" as const);
const anyPermission = fc.constantFrom<Permission>("R", "W", "RW");
const anyFrom: fc.Arbitrary<From> = fc.oneof(
  fc.constant<From>("all"),
  fc.record({ user: anyUser }),
  fc.record({ team: anyTeam }),
);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(anyUser, anyName).map((args) => protect(...args)) },
  { weight: 1, arbitrary: fc.tuple(anyUser, anyName).map((args) => remove(...args)) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyUser, anyName, anyUser, anyPermission)
      .map((args) => shareWithUser(...args)),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyUser, anyName, anyTeam, anyPermission)
      .map((args) => shareWithTeam(...args)),
  },
  { weight: 3, arbitrary: fc.tuple(anyUser, anyName, anyFrom).map((args) => unshare(...args)) },
  { weight: 4, arbitrary: fc.tuple(anyUser, anyName).map((args) => dismissShare(...args)) },
  { weight: 2, arbitrary: fc.tuple(anyUser, anyTeam, anyUser).map((args) => createTeam(...args)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(anyUser, anyTeam, fc.constantFrom("joins" as const, "leaves" as const), anyUser)
      .map((args) => changeTeam(...args)),
  },
  { weight: 1, arbitrary: fc.tuple(anyUser, anyTeam).map((args) => deleteTeam(...args)) },
);
/** Initial secrets and teams: few sequences are without effect. */
const beginning: Step[] = [
  protect("ann", "one"),
  protect("bob", "one"),
  createTeam("ann", "red", "bob"),
  createTeam("cid", "blue", "ann"),
];

/**
 * Returns the expected view of a name: the list, then the outcome of each operation by requested
 * owner.
 */
function predictView(model: PermissionModel, user: User, name: Name): Record<string, unknown> {
  const readable = users.filter((owner) => model.may(user, owner, name).includes("R"));
  const own = model.grants(user, name);
  const predicted: Record<string, unknown> = {
    list: readable.map(
      (owner) => `${owner} ${model.may(user, owner, name)} ${model.isShared(owner, name)}`,
    ),
    expose:
      own && !model.isShared(user, name)
        ? `200 ${user}`
        : own || model.received(user, name).length > 0
          ? "409 use_link_operation"
          : "404 secret_not_found",
  };
  for (const owner of [undefined, ...users]) {
    const linked = model.linked(user, name, owner);
    const outcome = (letter: string): string => {
      if (!isUser(linked)) return linked;
      return model.may(user, linked, name).includes(letter) ? `200 ${linked}` : "403 forbidden";
    };
    predicted[`expose_link of ${owner}`] = outcome("R");
    predicted[`protect_link of ${owner}`] = outcome("W");
  }
  const accessible = [...model.received(user, name), ...(own ? [user] : [])];
  // The caller's own secret takes precedence.
  const only = own ? user : accessible[0];
  predicted.update =
    only === undefined
      ? "404 secret_not_found"
      : !own && accessible.length > 1
        ? "409 ambiguous_name"
        : model.may(user, only, name).includes("W")
          ? `200 ${only}`
          : "403 forbidden";
  return predicted;
}

const localPart = (email: string): string => email.replace("@example.com", "");
const outcomeOf = (response: VaultResponse, owner: string | undefined): string =>
  owner === undefined ? response.outcome() : `${response.outcome()} ${localPart(owner)}`;

async function view(
  { callers, suffix }: Run,
  user: User,
  name: Name,
): Promise<Record<string, unknown>> {
  const caller = callers[user];
  const key_name = name + suffix;
  const { secrets } = (await caller.call("list_no_dup")).json();
  const mine = secrets.filter((secret: { key_name: string }) => secret.key_name === key_name);
  const exposed = await caller.call("expose", { key_name });
  const seen: Record<string, unknown> = {
    list: mine.map(
      (secret: { owner: string; permission: string; shared: boolean }) =>
        `${localPart(secret.owner)} ${secret.permission} ${secret.shared}`,
    ),
    expose: outcomeOf(exposed, exposed.json().owner),
  };
  for (const owner of [undefined, ...users]) {
    const body = { key_name, ...(owner !== undefined && { owner: emailOf(owner) }) };
    const revealed = await caller.call("expose_link", body);
    // The metadata names the owner, to detect a mix-up of secrets.
    const { owner: said, metadata } = revealed.json();
    seen[`expose_link of ${owner}`] =
      said === undefined || metadata.of === localPart(said) ? outcomeOf(revealed, said) : metadata;
    const written = await caller.call("protect_link", { ...body, key_value: "w", without_list: 1 });
    seen[`protect_link of ${owner}`] = outcomeOf(written, written.json().secret?.owner);
  }
  const updated = await caller.call("update_key_metadata", {
    key_name,
    key_version: 1,
    metadata: { note: 1 },
  });
  seen.update = outcomeOf(updated, updated.json().secret?.owner);
  return seen;
}

let vault: TestVault;
let callers: Record<User, VaultClient>;
let runs = 0;
beforeAll(async () => {
  vault = await TestVault.start({
    emails: users.map(emailOf),
    limits: { requestsPerSecond: 1e6, requestBurst: 1e6 },
  });
  const log = (user: User) => vault.client(emailOf(user));
  callers = {
    ann: await log("ann"),
    bob: await log("bob"),
    cid: await log("cid"),
    dee: await log("dee"),
  };
});
afterAll(() => vault[Symbol.asyncDispose]());

test("after any sequence of shares and team changes, permissions match the model", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: "max" }), async (steps) => {
      const run: Run = { callers, suffix: ` ${(runs += 1)}` };
      const model = new PermissionModel();
      for (const step of [...beginning, ...steps]) {
        const outcome = step.predict(model);
        expect((await step.run(run)).outcome(), String(step)).toEqual(outcome);
      }
      for (const name of names) {
        for (const user of users) {
          const predicted = predictView(model, user, name);
          expect(await view(run, user, name), `${user} ${name}`).toEqual(predicted);
        }
      }
    }),
    { numRuns: 30 },
  );
}, 180_000);
