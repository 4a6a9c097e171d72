import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { SignUpMode } from "../../../protocol/schemas/session.ts";
import { currentSession } from "../service/account.ts";
import type { Session } from "../service/responses.ts";
import { toRequestError } from "../service/request-error.ts";
import { SessionKeeper, type Pause, type SessionState } from "./session-keeper.ts";

/** Change of the session that the tabs of a browser share. */
type SessionChange = "logged-in" | "logged-out" | "locked" | "used";

const changes: readonly unknown[] = ["logged-in", "logged-out", "locked", "used"];

const channel = new BroadcastChannel("vaultsync-session");

/** Notifies the other tabs. */
export function announce(change: SessionChange): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has only this origin
  channel.postMessage(change);
}

function isChange(data: unknown): data is SessionChange {
  return changes.includes(data);
}

/** Calls `notify` for the changes of other tabs. Returns a function that ends it. */
export function followOtherTabs(notify: (change: SessionChange) => void): () => void {
  const listen = ({ data }: MessageEvent<unknown>): void => {
    if (isChange(data)) notify(data);
  };
  channel.addEventListener("message", listen);
  return () => channel.removeEventListener("message", listen);
}

const NO_ACCOUNTS =
  "This vault has no accounts yet. Its operator adds the first with: vaultsync vault user add EMAIL";

export interface SessionControl {
  readonly state: SessionState;
  /** Addresses that may sign up. */
  readonly signUp: SignUpMode;
  readonly sendsEmail: boolean;
  /** Days for which deleted secrets and files can be restored; 0 for none. */
  readonly trashDays: number;
  readonly check: () => void;
  /** Keeps the pages until the same user logs in again. */
  readonly pause: (reason: Pause) => void;
  /** Starts a session after a login in this tab. */
  readonly start: (session: Session) => void;
  /** Closes the pages. `notice` is shown on the login page. */
  readonly end: (notice?: string) => void;
}

/**
 * Manages the session: fetches it when the page loads, and keeps it only in memory and in the
 * browser's cookie.
 */
export function useSession(): SessionControl {
  const [state, setState] = useState<SessionState>({ kind: "checking" });
  const [signUp, setSignUp] = useState<SignUpMode>("open");
  const [sendsEmail, setSendsEmail] = useState(true);
  const [trashDays, setTrashDays] = useState(0);
  const [keeper] = useState(() => new SessionKeeper(setState));
  const end = useCallback(
    (notice?: string) => keeper.close({ kind: "none", ...(notice !== undefined && { notice }) }),
    [keeper],
  );
  const start = useCallback(
    (session: Session) => {
      keeper.adopt(session);
      announce("logged-in");
    },
    [keeper],
  );
  const pause = useCallback((reason: Pause) => keeper.pause(reason), [keeper]);
  const check = useCallback(() => {
    keeper.close({ kind: "checking" });
    currentSession().then(
      ({ session, sign_up: mode, email_delivery: delivery, trash_days: days = 0, ...vault }) => {
        setSignUp(mode);
        setSendsEmail(delivery !== "files");
        setTrashDays(days);
        if (session) keeper.adopt(session);
        else end(vault.no_accounts ? NO_ACCOUNTS : undefined);
      },
      (error: unknown) => keeper.close({ kind: "unknown", failure: toRequestError(error) }),
    );
  }, [keeper, end]);
  useEffect(check, [check]);
  useEffect(
    () =>
      followOtherTabs((change) => {
        if (change === "logged-out") {
          end("You logged out in another tab.");
          return;
        }
        if (change === "locked") keeper.pause("locked");
        if (change !== "logged-in") return;
        currentSession().then(
          ({ session }) => {
            if (session && keeper.accepts(session)) keeper.adopt(session);
          },
          // The next request of the user fails as well, and says why.
          () => undefined,
        );
      }),
    [keeper, end],
  );
  return useMemo(
    () => ({ state, signUp, sendsEmail, trashDays, check, pause, start, end }),
    [state, signUp, sendsEmail, trashDays, check, pause, start, end],
  );
}
