import { createContext } from "preact";
import { useContext } from "preact/hooks";

const Context = createContext(true);

export const SendsEmailProvider = Context.Provider;

/** Reports whether the vault sends emails; otherwise its operator has them. */
export function useSendsEmail(): boolean {
  return useContext(Context);
}
