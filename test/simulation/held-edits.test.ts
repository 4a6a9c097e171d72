import { expect, test } from "vitest";
import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import { heldEdits } from "./held-edits.ts";
import { runEpisode } from "./simulate.ts";

test("the operator converges after edits that are made while removals are held", async () => {
  for (const seed of [1, 2, 3, 4, 5, 6])
    expect(await runEpisode(seed, heldEdits(new Scene(seededRandom(seed))))).toBeUndefined();
});
