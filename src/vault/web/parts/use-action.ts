import { useCallback, useRef, useState } from "preact/hooks";
import { toRequestError, type RequestError } from "../service/request-error.ts";

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
