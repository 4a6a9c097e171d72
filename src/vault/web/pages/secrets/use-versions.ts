import { useCallback, useRef } from "preact/hooks";
import type { VersionRecord } from "../../../../protocol/responses.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import { useReturn } from "../../parts/use-return.ts";
import type { RequestError } from "../../service/request-error.ts";
import { listVersions } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";

export interface Versions {
  /**
   * The newest first; the first one describes the secret. Stays when a later request fails, so that
   * no typed text is lost.
   */
  readonly versions: readonly VersionRecord[] | undefined;
  /** Failure of the last request. */
  readonly failure: RequestError | undefined;
  readonly reload: () => Promise<void>;
}

/**
 * Fetches the versions of a secret, the one source of its page: on opening, after each change, and
 * on return to the tab.
 */
export function useVersions(owner: string, name: string): Versions {
  const client = useClient();
  const { loaded, reload } = useLoaded(
    useCallback(() => listVersions(client, owner, name), [client, owner, name]),
  );
  const last = useRef<readonly VersionRecord[] | undefined>(undefined);
  if (loaded.kind === "ready") last.current = loaded.value;
  useReturn(useCallback(() => void reload(), [reload]));
  return {
    versions: last.current,
    failure: loaded.kind === "failed" ? loaded.failure : undefined,
    reload,
  };
}
