import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const MINUTE = 60_000;

type Command =
  | { readonly kind: "protect"; readonly deleteTime?: number }
  | { readonly kind: "protect_link" }
  | { readonly kind: "version_delete"; readonly version: number }
  | { readonly kind: "delete" }
  | { readonly kind: "share" }
  | { readonly kind: "unshare" }
  | { readonly kind: "wait"; readonly minutes: number };

interface Living {
  next: number;
  readonly values: Map<number, string>;
  deleteAt: number;
  shared: boolean;
}

/** One name of one creator, in the plainest way. */
class Model {
  #living: Living | undefined;
  #now = 0;
  #written = 0;

  /** `undefined` once its deadline has come. */
  get living(): Living | undefined {
    return this.#living && this.#living.deleteAt > this.#now ? this.#living : undefined;
  }

  /** The value that the next protect writes: each is another. */
  get nextValue(): string {
    return `value ${this.#written}`;
  }

  /** The outcome; with a successful write also its version. */
  apply(command: Command): string {
    const known = this.living;
    switch (command.kind) {
      case "wait":
        this.#now += command.minutes;
        return "";
      case "protect": {
        if (known?.shared) return "409 use_link_operation";
        const secret = known ?? {
          next: 1,
          values: new Map<number, string>(),
          deleteAt: 525_600_000 + this.#now,
          shared: false,
        };
        if (command.deleteTime !== undefined) secret.deleteAt = this.#now + command.deleteTime;
        this.#living = secret;
        return this.#write(secret);
      }
      case "protect_link":
        if (!known) return "404 secret_not_found";
        return known.shared ? this.#write(known) : "409 use_unshared_operation";
      case "version_delete":
        if (!known) return "404 secret_not_found";
        if (!known.values.has(command.version)) return "404 version_not_found";
        if (known.values.size === 1) return "409 last_version";
        known.values.delete(command.version);
        return "200";
      case "delete":
        this.#living = undefined;
        return known ? "200" : "404 secret_not_found";
      case "share":
      case "unshare":
        if (known) known.shared = command.kind === "share";
        return known ? "200" : "404 secret_not_found";
    }
  }

  #write(secret: Living): string {
    const version = secret.next;
    secret.values.set(version, this.nextValue);
    secret.next += 1;
    this.#written += 1;
    return `200 ${version}`;
  }
}

const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Command>({ kind: "protect" }) },
  {
    weight: 2,
    arbitrary: fc
      .integer({ min: 1, max: 5 })
      .map((deleteTime): Command => ({ kind: "protect", deleteTime })),
  },
  { weight: 3, arbitrary: fc.constant<Command>({ kind: "protect_link" }) },
  {
    weight: 6,
    arbitrary: fc
      .integer({ min: 1, max: 6 })
      .map((version): Command => ({ kind: "version_delete", version })),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ kind: "delete" }) },
  { weight: 2, arbitrary: fc.constantFrom<Command>({ kind: "share" }, { kind: "unshare" }) },
  {
    weight: 3,
    arbitrary: fc
      .integer({ min: 1, max: 4 })
      .map((minutes): Command => ({ kind: "wait", minutes })),
  },
);

let runs = 0;
const clock = new VirtualClock();
const { ann } = await useVault({ clock });

async function run(key_name: string, command: Command, key_value: string): Promise<string> {
  switch (command.kind) {
    case "wait":
      clock.stepWall(command.minutes * MINUTE);
      return "";
    case "protect": {
      const { deleteTime } = command;
      const response = await ann.call("protect", {
        key_name,
        key_value,
        ...(deleteTime !== undefined && { delete_time: deleteTime }),
      });
      return `${response.outcome()} ${response.json().secret?.key_version ?? ""}`.trim();
    }
    case "protect_link": {
      const response = await ann.call("protect_link", { key_name, key_value, without_list: 1 });
      return `${response.outcome()} ${response.json().secret?.key_version ?? ""}`.trim();
    }
    case "version_delete":
      return (
        await ann.call("version_delete", { key_name, key_version: command.version })
      ).outcome();
    case "delete":
      return (await ann.call("delete", { key_name })).outcome();
    case "share":
      return (
        await ann.call("share", {
          key_name,
          permission: "R",
          usr_id_from: ann.email,
          usr_id_to: "bob@example.com",
        })
      ).outcome();
    case "unshare":
      return (await ann.call("unshare", { key_name })).outcome();
  }
}

/** Every version with its value, the latest's value, and what the list says is the latest. */
async function seen(key_name: string, shared: boolean): Promise<unknown> {
  const family = shared
    ? (["version_list_for_link", "version_expose_link", "expose_link"] as const)
    : (["version_list", "version_expose", "expose"] as const);
  const [list, exposeVersion, expose] = family;
  const versions = (await ann.call(list, { key_name })).json().versions ?? [];
  const values = [];
  for (const { key_version } of versions) {
    const response = await ann.call(exposeVersion, { key_name, key_version });
    values.push([key_version, response.json().key_value]);
  }
  const latest = await ann.call(expose, { key_name });
  const listed = (await ann.call("list_no_dup"))
    .json()
    .secrets.find((secret: { key_name: string }) => secret.key_name === key_name);
  return {
    values,
    latest: latest.json().key_value ?? latest.outcome(),
    listed: listed?.key_version,
  };
}

test("after any sequence of writes, deletions and deadlines, versions and values match the model", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCommand, { minLength: 1, maxLength: 25, size: "max" }),
      async (commands) => {
        const key_name = `versions ${(runs += 1)}`;
        const model = new Model();
        for (const [index, command] of commands.entries()) {
          const value = model.nextValue;
          const outcome = model.apply(command);
          expect(
            await run(key_name, command, value),
            `${index} ${JSON.stringify(command)}`,
          ).toEqual(outcome);
        }
        const living = model.living;
        const values = [...(living?.values ?? [])].sort(([a], [b]) => a - b);
        const latest = values.at(-1);
        expect(await seen(key_name, living?.shared ?? false)).toEqual({
          values,
          latest: latest?.[1] ?? "404 secret_not_found",
          listed: latest?.[0],
        });
      },
    ),
    { numRuns: 40 },
  );
}, 180_000);

test("concurrent writes and deletions reuse no number and keep every acknowledged value", async () => {
  const anyMix = fc.array(
    fc.oneof(fc.constant("protect" as const), fc.integer({ min: 1, max: 8 })),
    {
      minLength: 2,
      maxLength: 16,
      size: "max",
    },
  );
  await fc.assert(
    fc.asyncProperty(anyMix, async (mix) => {
      const key_name = `concurrent ${(runs += 1)}`;
      await ann.call("protect", { key_name, key_value: "first" });
      const outcomes = await Promise.all(
        mix.map(
          async (action, index): Promise<[outcome: string, version: number, value: string]> => {
            const value = `value ${index}`;
            if (action !== "protect") {
              return [
                (await ann.call("version_delete", { key_name, key_version: action })).outcome(),
                action,
                "deleted",
              ];
            }
            const response = await ann.call("protect", { key_name, key_value: value });
            return [response.outcome(), response.json().secret?.key_version, value];
          },
        ),
      );
      const refusals = outcomes.map(([outcome]) => outcome).filter((outcome) => outcome !== "200");
      expect(
        refusals.filter(
          (outcome) => !["404 version_not_found", "409 last_version"].includes(outcome),
        ),
      ).toEqual([]);
      const done = outcomes.filter(([outcome]) => outcome === "200");
      const written = done
        .filter(([, , value]) => value !== "deleted")
        .map(([, version, value]) => [version, value] as const);
      const deleted = done
        .filter(([, , value]) => value === "deleted")
        .map(([, version]) => version);
      expect(written.map(([version]) => version).sort((a, b) => a - b)).toEqual(
        written.map((_, i) => i + 2),
      );
      expect(new Set(deleted).size).toBe(deleted.length);
      const kept = new Map([[1, "first"], ...written]);
      for (const version of deleted) kept.delete(version);
      const values = [...kept].sort(([a], [b]) => a - b);
      expect(await seen(key_name, false)).toEqual({
        values,
        latest: values.at(-1)?.[1],
        listed: values.at(-1)?.[0],
      });
    }),
    { numRuns: 40 },
  );
}, 180_000);
