import { useCallback, useRef, useState, useEffect, useMemo, useLayoutEffect } from "preact/hooks";
import { toRequestError, type RequestError } from "../service/request-error.ts";
import { navigate } from "../routing/use-route.ts";
import type { Route } from "../routing/route.ts";
import { useToast } from "./toasts.tsx";

/** Ends work that the user decides against: it is no failure. */
export class Canceled extends Error {
  override readonly name = "Canceled";
}

export interface Action {
  readonly busy: boolean;
  /** Failure of the last run. */
  readonly failure: RequestError | undefined;
  /**
   * Runs the work unless other work is in progress. Resolves when it is done, also after a failure.
   */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

/** Runs work that a user starts, and tracks whether it is in progress and why it failed. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<RequestError | undefined>(undefined);
  const running = useRef(false);
  const run = useCallback(async (work: () => Promise<void>) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Canceled)) setFailure(toRequestError(error));
    } finally {
      running.current = false;
      setBusy(false);
    }
  }, []);
  return { busy, failure, run };
}

/** Lets the user end long work. */
interface Stop {
  /** Starts work. Its signal is aborted by `stop`, and when the component leaves the page. */
  readonly start: () => AbortSignal;
  readonly stop: () => void;
}

export function useStop(): Stop {
  const work = useRef<AbortController | undefined>(undefined);
  const stop = useCallback(() => work.current?.abort(), []);
  useEffect(() => stop, [stop]);
  const start = useCallback(() => {
    work.current = new AbortController();
    return work.current.signal;
  }, []);
  return useMemo(() => ({ start, stop }), [start, stop]);
}

/** Returns a function that reports whether the component is still in the page. */
export function useShown(): () => boolean {
  const shown = useRef(true);
  // Another effect would end after the next paint: a failure until then would be lost.
  useLayoutEffect(() => {
    shown.current = true;
    return () => void (shown.current = false);
  }, []);
  return useCallback(() => shown.current, []);
}

/**
 * Returns a function that reports the work of a form and opens a page. When the user has left the
 * form, the message links to the page instead: nothing replaces what the user does now.
 */
export function useFinish(): (text: string, route: Route, link: string) => void {
  const toast = useToast();
  const isShown = useShown();
  return (text, route, label) => {
    if (isShown()) {
      toast(text);
      navigate(route);
    } else {
      toast(text, "good", { route, label });
    }
  };
}
