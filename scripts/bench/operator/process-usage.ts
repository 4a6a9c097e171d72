import { readdir, readFile } from "node:fs/promises";

/** Clock ticks per second of /proc, the same on every Linux that Node supports. */
const TICKS = 100;

interface Usage {
  readonly group: number;
  readonly cpuSeconds: number;
  /** CPU time of its children that have ended. */
  readonly endedSeconds: number;
}

async function usageOf(pid: number | string): Promise<Usage> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The second field is the name in parentheses and may contain spaces; pgrp is the 5th, the times
  // are the 14th to 17th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) / TICKS);
  return {
    group: Number(fields[2]),
    cpuSeconds: user + system,
    endedSeconds: endedUser + endedSystem,
  };
}

/** Returns the CPU time of a process since its start, in seconds, as Linux counts it. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await usageOf(pid)).cpuSeconds;
}

/**
 * Returns the CPU time, in seconds, of a process with one thread that starts others, and of its
 * children.
 */
export async function cpuSecondsWithChildren(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8"))
    .split(" ")
    .filter((text) => text !== "");
  const running = await Promise.all(
    children.map((child) => cpuSeconds(Number(child)).catch(() => 0)),
  );
  const own = await usageOf(pid);
  return running.reduce((sum, seconds) => sum + seconds, own.cpuSeconds + own.endedSeconds);
}

/** Returns the CPU time of all processes of a group that run, in seconds. */
export async function groupCpuSeconds(group: number): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const ended: Usage = { group: 0, cpuSeconds: 0, endedSeconds: 0 };
  const usages = await Promise.all(pids.map((pid) => usageOf(pid).catch(() => ended)));
  return usages.reduce((sum, usage) => (usage.group === group ? sum + usage.cpuSeconds : sum), 0);
}

/** The resident memory of a process, in MiB. */
export interface Memory {
  readonly now: number;
  /**
   * The part of `now` that no file backs: the kubelet counts this part of a process in a container.
   */
  readonly anonymous: number;
  /** Since the start of the process. */
  readonly peak: number;
}

/** Returns the resident memory of a process. */
export async function residentMiB(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "mu").exec(status)?.[1]) / 1024;
  return { now: field("VmRSS"), anonymous: field("RssAnon"), peak: field("VmHWM") };
}

/** Bytes that a process has read and written since its start, from and to sockets and files. */
export interface Transferred {
  readonly read: number;
  readonly written: number;
}

export async function transferredBytes(pid: number): Promise<Transferred> {
  const io = await readFile(`/proc/${pid}/io`, "utf8");
  const field = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)$`, "mu").exec(io)?.[1]);
  return { read: field("rchar"), written: field("wchar") };
}
