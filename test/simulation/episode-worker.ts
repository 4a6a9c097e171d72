import { enableCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { COMPILE_CACHE } from "../lab/compile-cache.ts";
import type { EpisodeThreadOptions } from "./episode-thread.ts";
import { plant } from "./plant.ts";

enableCompileCache(COMPILE_CACHE);
// The code of an EpisodeThread. Most errors are simulated faults, whose stacks nothing shows; a
// replay shows the one of an exception.
Error.stackTraceLimit = 0;
const { pushes = false, ...planted } = workerData as EpisodeThreadOptions;
plant(planted);
// After the changes.
const run = pushes
  ? (await import("./pushes/push-episode.ts")).randomPushEpisode
  : (await import("./simulate.ts")).randomEpisode;
parentPort?.on("message", (episode: Parameters<typeof run>) => {
  void run(...episode).then((failure) => parentPort?.postMessage(failure, []));
});
