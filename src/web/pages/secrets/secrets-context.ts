import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import type { Loading } from "../../parts/use-loaded.ts";
import type { ListView } from "./list-view.ts";

/** What the pages about secrets share while one goes from one to the other: the list, and how it is looked at. */
export interface SecretsState {
  readonly list: Loading<readonly SecretRecord[]>;
  readonly view: ListView;
  readonly setView: (view: ListView) => void;
}

const Context = createContext<SecretsState | undefined>(undefined);

export const SecretsProvider = Context.Provider;

/** @throws Error outside the pages of somebody who is logged in */
export function useSecrets(): SecretsState {
  const state = useContext(Context);
  if (!state) throw new Error("there is no list of secrets here");
  return state;
}
