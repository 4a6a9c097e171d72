import { expect, test } from "vitest";
import { fieldsOf, pathsOf } from "../features.ts";
import { EPISODE_STEPS, seedOfEpisode } from "../simulate.ts";
import { breakages } from "../broken-connections.ts";
import { keyChanges } from "./push-commands.ts";
import { pushCommandsOf } from "./random-push-commands.ts";

/** As many episodes as 40,000 steps have. */
const EPISODES = 40_000 / EPISODE_STEPS;

const commands = Array.from({ length: EPISODES }, (_, index) =>
  pushCommandsOf(seedOfEpisode(1, index), EPISODE_STEPS),
).flat();

test("random commands write every field of a VaultPush", () => {
  const written = new Set(
    commands.flatMap((one) =>
      one.type === "put-push" ? [...pathsOf(one.spec, fieldsOf.VaultPush)] : [],
    ),
  );
  expect(fieldsOf.VaultPush.size).toBeGreaterThan(15);
  expect([...fieldsOf.VaultPush].filter((path) => !written.has(path))).toEqual([]);
});

test("random commands make every change of a key, and every break of a connection", () => {
  const changes = new Set(commands.flatMap((one) => (one.type === "set-key" ? one.change : [])));
  const broken = new Set(
    commands.flatMap((one) => (one.type === "break-connection" ? one.how : [])),
  );
  expect(keyChanges.filter((change) => !changes.has(change))).toEqual([]);
  expect(breakages.filter((how) => !broken.has(how))).toEqual([]);
});
