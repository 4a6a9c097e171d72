import { useEffect } from "preact/hooks";
import { currentSession } from "../service/account.ts";
import { browserClock } from "../service/browser-clock.ts";
import { isUploading } from "../service/files.ts";
import type { VaultClient } from "../service/vault-client.ts";
import { announce, followOtherTabs, type SessionControl } from "./use-session.ts";

/** Time in ms without use of any tab after which the pages are locked. */
const LOCK_MS = 15 * 60_000;
/** Interval in ms of looking at the time, and of notifying other tabs that this one is used. */
const LOOK_MS = 60_000;
/** Interval in ms of asking whether the session is still there. It continues the session. */
const CHECK_MS = 5 * 60_000;

const uses = ["pointermove", "pointerdown", "keydown", "wheel"] as const;

/** Calls `lock` after 15 minutes without use, and `check` every five minutes until then. */
function watchUse(lock: () => void, check: () => void): () => void {
  const ends = new AbortController();
  let used = browserClock.now();
  let [shared, checked] = [used, used];
  let cancel: (() => void) | undefined;
  const look = (): void => {
    cancel?.();
    const now = browserClock.now();
    if (now - used >= LOCK_MS && !isUploading()) {
      lock();
      return;
    }
    if (now - checked >= CHECK_MS) {
      checked = now;
      check();
    }
    cancel = browserClock.after(LOOK_MS, look);
  };
  const use = (): void => {
    used = browserClock.now();
    if (used - shared < LOOK_MS) return;
    shared = used;
    announce("used");
  };
  const options = { signal: ends.signal, capture: true, passive: true };
  for (const event of uses) addEventListener(event, use, options);
  // A computer that slept has not looked for hours.
  document.addEventListener("visibilitychange", look, options);
  const leaveTabs = followOtherTabs((change) => {
    if (change === "used") used = browserClock.now();
  });
  look();
  return () => {
    ends.abort();
    cancel?.();
    leaveTabs();
  };
}

/**
 * Locks the open pages after 15 minutes without use: their session ends, and the typed text stays.
 * Notices that the session has ended elsewhere.
 */
export function useLock({ state, pause }: SessionControl): void {
  const client: VaultClient | undefined =
    state.kind === "open" && state.paused === undefined ? state.client : undefined;
  useEffect(() => {
    if (!client) return;
    const ignore = (): void => undefined;
    const lock = (): void => {
      pause("locked");
      announce("locked");
      // Without a network the session stays, and ends an hour after its last use.
      client.logOut().catch(ignore);
    };
    const check = (): void =>
      void currentSession().then(({ session }) => {
        if (session?.email !== client.email) pause("ended");
      }, ignore);
    return watchUse(lock, check);
  }, [client, pause]);
}
