import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { VaultClient } from "../service/vault-client.ts";

const Context = createContext<VaultClient | undefined>(undefined);

export const ClientProvider = Context.Provider;

/**
 * Returns the client of the logged-in user. @throws Error outside the pages that require a login
 */
export function useClient(): VaultClient {
  const client = useContext(Context);
  if (!client) throw new Error("no user is logged in");
  return client;
}
