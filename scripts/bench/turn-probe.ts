/**
 * Measures the longest turn of the event loop, as CPU time of the main thread, because a delay
 * contains the time of other programs. Loaded into the server with `--import`; SIGUSR2 prints the
 * longest turn in ms since the last one, at most the interval too long.
 */
const INTERVAL_MS = 2;

let before = process.threadCpuUsage();
let longest = 0;
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  longest = Math.max(longest, (user + system) / 1000);
}, INTERVAL_MS).unref();
process.on("SIGUSR2", () => {
  process.stderr.write(`longest turn ${longest.toFixed(1)}\n`);
  longest = 0;
});
