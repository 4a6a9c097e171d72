/**
 * Preloaded (`node --import`) into the demo's child processes. When the pipe to standard input
 * closes, because the demo ended in any way, the child stops. Not even a `kill -9` of the demo
 * leaves a process running.
 */
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
// Watching the pipe must not keep the process alive.
if ("unref" in process.stdin) process.stdin.unref();
