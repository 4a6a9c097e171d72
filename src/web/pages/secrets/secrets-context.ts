import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import type { Loading } from "../../parts/use-loaded.ts";
import type { ListView } from "./list-view.ts";

/** State that the secrets pages share across navigation: the list and its view. */
export interface SecretsState {
  readonly list: Loading<readonly SecretRecord[]>;
  readonly view: ListView;
  readonly setView: (view: ListView) => void;
}

const Context = createContext<SecretsState | undefined>(undefined);

export const SecretsProvider = Context.Provider;

/** Returns the shared state. @throws Error outside the pages that require a login */
export function useSecrets(): SecretsState {
  const state = useContext(Context);
  if (!state) throw new Error("there is no list of secrets here");
  return state;
}
