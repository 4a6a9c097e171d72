import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { currentSession } from "../service/account.ts";
import type { Session } from "../service/responses.ts";
import { failureOf, type ServiceFailure } from "../service/failure.ts";
import { VaultClient } from "../service/vault-client.ts";

/** Whether somebody is logged in, as far as is known. */
export type SessionState =
  | { readonly kind: "asking" }
  | { readonly kind: "unknown"; readonly failure: ServiceFailure }
  | { readonly kind: "none"; readonly notice?: string }
  | { readonly kind: "open"; readonly client: VaultClient };

export interface SessionControl {
  readonly state: SessionState;
  readonly ask: () => void;
  readonly begin: (session: Session) => void;
  /** `notice` says to the person why. */
  readonly end: (notice?: string) => void;
}

const OVER = "Your session has ended. Log in again to continue.";

/** The session, asked for once when the page is loaded. It is kept in memory and in the browser's cookie, nowhere else. */
export function useSession(): SessionControl {
  const [state, setState] = useState<SessionState>({ kind: "asking" });
  const end = useCallback((notice?: string) => setState({ kind: "none", ...(notice !== undefined && { notice }) }), []);
  const begin = useCallback(
    (session: Session) => setState({ kind: "open", client: new VaultClient(session, () => end(OVER)) }),
    [end],
  );
  const ask = useCallback(() => {
    setState({ kind: "asking" });
    currentSession().then(
      (session) => (session ? begin(session) : end()),
      (error: unknown) => setState({ kind: "unknown", failure: failureOf(error) }),
    );
  }, [begin, end]);
  useEffect(ask, [ask]);
  return useMemo(() => ({ state, ask, begin, end }), [state, ask, begin, end]);
}
