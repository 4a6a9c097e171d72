import { readFileSync } from "node:fs";

const PASSED = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Signals that a terminal sends to all processes in the foreground. */
const OF_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGQUIT"]);

/** Reports whether this process is in the foreground of a terminal, together with its command. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return group === foreground;
  } catch {
    return process.stdin.isTTY || process.stdout.isTTY;
  }
}

/**
 * Calls `pass` for each signal that the command of this process has to receive, until disposed. Of
 * the signals of a terminal, it gets those that the terminal did not send.
 */
export function passSignals(pass: (signal: NodeJS.Signals) => void): Disposable {
  const onSignal = (signal: NodeJS.Signals): void => pass(signal);
  for (const signal of PASSED) process.on(signal, onSignal);
  return {
    [Symbol.dispose]: () => {
      for (const signal of PASSED) process.off(signal, onSignal);
    },
  };
}

/** Reports whether the terminal sent a signal to the command already. */
export const isOfTerminal = (signal: NodeJS.Signals): boolean =>
  OF_TERMINAL.has(signal) && isInForeground();
