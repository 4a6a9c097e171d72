import { expect, test } from "vitest";
import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import { movedKeys } from "./moved-keys.ts";
import { runEpisode } from "./simulate.ts";

test("the bytes of a removed secret leave a key that an edit moved", async () => {
  for (const seed of [1, 2, 3, 4, 5, 6])
    expect(await runEpisode(seed, movedKeys(new Scene(seededRandom(seed))))).toBeUndefined();
});
