/**
 * Preloaded (`node --import`) into the demo's child programs: when the pipe to standard input closes, because the demo ended in whatever
 * way, the program is told to stop. So not even a `kill -9` of the demo leaves anything running.
 */
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
// Watching the pipe is no reason to go on.
if ("unref" in process.stdin) process.stdin.unref();
