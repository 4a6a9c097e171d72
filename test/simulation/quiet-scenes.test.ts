import { expect, test } from "vitest";
import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import { heldAndFrozen, movedKeys, refreshed, renamedKey } from "./quiet-scenes.ts";
import { runEpisode } from "./simulate.ts";

test.each([
  ["the bytes of a removed secret leave a key that an edit moved", movedKeys],
  ["a key of a missing secret keeps its bytes when an edit renames it", renamedKey],
  ["a found name waits for the end of a freeze, also while a hold keeps the target", heldAndFrozen],
  ["versions that come faster than the refreshInterval wait, also over a restart", refreshed],
] as const)("%s", async (_, scene) => {
  for (const seed of [1, 2, 3, 4, 5, 6])
    expect(await runEpisode(seed, scene(new Scene(seededRandom(seed))))).toBeUndefined();
});
