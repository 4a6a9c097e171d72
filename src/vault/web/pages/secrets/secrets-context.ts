import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ExposedSecret, SecretRecord } from "../../../../protocol/responses.ts";
import type { Loading } from "../../parts/loaded-view.tsx";

/** A secret to copy. */
export type Draft = Pick<ExposedSecret, "key_name" | "key_value" | "metadata">;

/** State that the secrets pages share across navigation. */
export interface SecretsState {
  readonly list: Loading<readonly SecretRecord[]>;
  /** Query in the address of the list when it was shown last, for links back to it. */
  readonly listQuery: { current: string };
  /** Start of the next new secret. */
  readonly draft: { current: Draft | undefined };
}

const Context = createContext<SecretsState | undefined>(undefined);

export const SecretsProvider = Context.Provider;

const none: readonly SecretRecord[] = [];

/** Returns the secrets of the list, none until it is loaded. */
export function useKnownSecrets(): readonly SecretRecord[] {
  const { loaded } = useSecrets().list;
  return loaded.kind === "ready" ? loaded.value : none;
}

/** Returns the shared state. @throws Error outside the pages that require a login */
export function useSecrets(): SecretsState {
  const state = useContext(Context);
  if (!state) throw new Error("there is no list of secrets here");
  return state;
}
