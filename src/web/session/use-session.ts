import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { SignUpMode } from "../../protocol/schemas/session.ts";
import { currentSession } from "../service/account.ts";
import type { Session } from "../service/responses.ts";
import { toRequestError, type RequestError } from "../service/request-error.ts";
import { VaultClient } from "../service/vault-client.ts";

/** State of the login. `unknown` means that the vault could not be asked. */
type SessionState =
  | { readonly kind: "checking" }
  | { readonly kind: "unknown"; readonly failure: RequestError }
  | { readonly kind: "none"; readonly notice?: string }
  | { readonly kind: "open"; readonly client: VaultClient };

export interface SessionControl {
  readonly state: SessionState;
  /** Addresses that may sign up. */
  readonly signUp: SignUpMode;
  readonly check: () => void;
  readonly start: (session: Session) => void;
  /** `notice` is shown on the login page. */
  readonly end: (notice?: string) => void;
}

const SESSION_ENDED = "Your session has ended. Log in again to continue.";

/** Manages the session, which is fetched when the page loads and kept only in memory and in the browser's cookie. */
export function useSession(): SessionControl {
  const [state, setState] = useState<SessionState>({ kind: "checking" });
  const [signUp, setSignUp] = useState<SignUpMode>("open");
  const end = useCallback((notice?: string) => setState({ kind: "none", ...(notice !== undefined && { notice }) }), []);
  const start = useCallback(
    (session: Session) => setState({ kind: "open", client: new VaultClient(session, () => end(SESSION_ENDED)) }),
    [end],
  );
  const check = useCallback(() => {
    setState({ kind: "checking" });
    currentSession().then(
      ({ session, sign_up: mode }) => {
        setSignUp(mode);
        if (session) start(session);
        else end();
      },
      (error: unknown) => setState({ kind: "unknown", failure: toRequestError(error) }),
    );
  }, [start, end]);
  useEffect(check, [check]);
  return useMemo(() => ({ state, signUp, check, start, end }), [state, signUp, check, start, end]);
}
