import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { VaultClient } from "../service/vault-client.ts";

const Context = createContext<VaultClient | undefined>(undefined);

export const ClientProvider = Context.Provider;

/** The vault as whoever is logged in sees it. @throws Error outside their pages */
export function useClient(): VaultClient {
  const client = useContext(Context);
  if (!client) throw new Error("nobody is logged in");
  return client;
}
