import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  changeTeam,
  createTeam,
  deleteTeam,
  emailOf,
  isPerson,
  Model,
  names,
  people,
  protect,
  dismissShare,
  remove,
  shareWithPerson,
  shareWithTeam,
  teams,
  unshare,
  type From,
  type Name,
  type Permission,
  type Person,
  type Step,
  type World,
} from "../support/vault/permission-model.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import type { VaultClient, VaultResponse } from "../support/vault/vault-client.ts";

// Some come up more often, so that steps meet each other.
const anyPerson = fc.constantFrom(...people, "ann" as const, "ann" as const, "bob" as const);
const anyName = fc.constantFrom(...names, "one" as const, "one" as const);
const anyTeam = fc.constantFrom(...teams, "red" as const, "red" as const);
const anyPermission = fc.constantFrom<Permission>("R", "W", "RW");
const anyFrom: fc.Arbitrary<From> = fc.oneof(
  fc.constant<From>("all"),
  fc.record({ person: anyPerson }),
  fc.record({ team: anyTeam }),
);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(anyPerson, anyName).map((args) => protect(...args)) },
  { weight: 1, arbitrary: fc.tuple(anyPerson, anyName).map((args) => remove(...args)) },
  { weight: 6, arbitrary: fc.tuple(anyPerson, anyName, anyPerson, anyPermission).map((args) => shareWithPerson(...args)) },
  { weight: 6, arbitrary: fc.tuple(anyPerson, anyName, anyTeam, anyPermission).map((args) => shareWithTeam(...args)) },
  { weight: 3, arbitrary: fc.tuple(anyPerson, anyName, anyFrom).map((args) => unshare(...args)) },
  { weight: 4, arbitrary: fc.tuple(anyPerson, anyName).map((args) => dismissShare(...args)) },
  { weight: 2, arbitrary: fc.tuple(anyPerson, anyTeam, anyPerson).map((args) => createTeam(...args)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(anyPerson, anyTeam, fc.constantFrom("joins" as const, "leaves" as const), anyPerson)
      .map((args) => changeTeam(...args)),
  },
  { weight: 1, arbitrary: fc.tuple(anyPerson, anyTeam).map((args) => deleteTeam(...args)) },
);
/** Something to share and somebody to share it with, so that few sequences are about nothing. */
const beginning: Step[] = [
  protect("ann", "one"),
  protect("bob", "one"),
  createTeam("ann", "red", "bob"),
  createTeam("cid", "blue", "ann"),
];

/** What the model says somebody sees of a name: the list, then each operation's outcome by the owner asked for. */
function predictView(model: Model, person: Person, name: Name): Record<string, unknown> {
  const readable = people.filter((owner) => model.may(person, owner, name).includes("R"));
  const own = model.grants(person, name);
  const predicted: Record<string, unknown> = {
    list: readable.map((owner) => `${owner} ${model.may(person, owner, name)} ${model.isShared(owner, name)}`),
    expose:
      own && !model.isShared(person, name)
        ? `200 ${person}`
        : own || model.received(person, name).length > 0
          ? "409 use_link_operation"
          : "404 secret_not_found",
  };
  for (const owner of [undefined, ...people]) {
    const linked = model.linked(person, name, owner);
    const outcome = (letter: string): string => {
      if (!isPerson(linked)) return linked;
      return model.may(person, linked, name).includes(letter) ? `200 ${linked}` : "403 forbidden";
    };
    predicted[`expose_link of ${owner}`] = outcome("R");
    predicted[`protect_link of ${owner}`] = outcome("W");
  }
  const held = [...model.received(person, name), ...(own ? [person] : [])];
  const [only] = held;
  predicted.update =
    only === undefined
      ? "404 secret_not_found"
      : held.length > 1
        ? "409 ambiguous_name"
        : model.may(person, only, name).includes("W")
          ? `200 ${only}`
          : "403 forbidden";
  return predicted;
}

const localPart = (email: string): string => email.replace("@example.com", "");
const outcomeOf = (answer: VaultResponse, owner: string | undefined): string =>
  owner === undefined ? answer.outcome() : `${answer.outcome()} ${localPart(owner)}`;

async function view({ callers, suffix }: World, person: Person, name: Name): Promise<Record<string, unknown>> {
  const caller = callers[person];
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
  for (const owner of [undefined, ...people]) {
    const body = { key_name, ...(owner !== undefined && { owner: emailOf(owner) }) };
    const revealed = await caller.call("expose_link", body);
    // The metadata says whose it is, so that nobody is shown another secret's without its being seen.
    const { owner: said, metadata } = revealed.json();
    seen[`expose_link of ${owner}`] =
      said === undefined || metadata.of === localPart(said) ? outcomeOf(revealed, said) : metadata;
    const written = await caller.call("protect_link", { ...body, key_value: "w", without_list: 1 });
    seen[`protect_link of ${owner}`] = outcomeOf(written, written.json().secret?.owner);
  }
  const updated = await caller.call("update_key_metadata", { key_name, key_version: 1, metadata: { note: 1 } });
  seen.update = outcomeOf(updated, updated.json().secret?.owner);
  return seen;
}

let vault: TestVault;
let callers: Record<Person, VaultClient>;
let runs = 0;
beforeAll(async () => {
  vault = await TestVault.start({ emails: people.map(emailOf), limits: { requestsPerSecond: 1e6, requestBurst: 1e6 } });
  const log = (person: Person) => vault.client(emailOf(person));
  callers = { ann: await log("ann"), bob: await log("bob"), cid: await log("cid"), dee: await log("dee") };
});
afterAll(() => vault[Symbol.asyncDispose]());

test("after any sequence of shares, teams and their ends, each person may list, reveal and change what the model says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: "max" }), async (steps) => {
      const world: World = { callers, suffix: ` ${(runs += 1)}` };
      const model = new Model();
      for (const step of [...beginning, ...steps]) {
        const outcome = step.predict(model);
        expect([String(step), (await step.run(world)).outcome()]).toEqual([String(step), outcome]);
      }
      for (const name of names) {
        for (const person of people) {
          const predicted = predictView(model, person, name);
          expect([person, name, await view(world, person, name)]).toEqual([person, name, predicted]);
        }
      }
    }),
    { numRuns: 30 },
  );
}, 60_000);
