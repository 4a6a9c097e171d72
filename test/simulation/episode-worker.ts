import { parentPort, workerData } from "node:worker_threads";
import { plant } from "./planted-bugs.ts";
import type { RunEpisode } from "./simulate.ts";

// The code of an EpisodeThread. Most errors are simulated faults, whose stacks nothing shows; a
// replay shows the one of an exception.
Error.stackTraceLimit = 0;
if (typeof workerData === "string") plant(workerData);
// After the bug was planted.
const { randomEpisode } = await import("./simulate.ts");
parentPort?.on("message", ([seed, steps]: Parameters<RunEpisode>) => {
  void randomEpisode(seed, steps).then((failure) => parentPort?.postMessage(failure, []));
});
