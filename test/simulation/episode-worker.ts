import { parentPort } from "node:worker_threads";
import { randomEpisode, type RunEpisode } from "./simulate.ts";

// The code of an EpisodeThread.
parentPort?.on("message", ([seed, steps]: Parameters<RunEpisode>) => {
  void randomEpisode(seed, steps).then((failure) => parentPort?.postMessage(failure, []));
});
