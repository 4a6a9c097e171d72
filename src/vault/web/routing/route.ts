/**
 * The page named by the hash of the address. `useRoute` removes the token of an email link from the
 * address immediately.
 */
export type Route =
  | {
      readonly page:
        | "login"
        | "sign-up"
        | "forgot-password"
        | "teams"
        | "api-token"
        | "connect"
        | "account"
        | "trash"
        | "unknown";
    }
  /**
   * `query` is the state of the list: search, filters, order and page, as in a URL. Of a new secret
   * it is the name and the environment to start with.
   */
  | { readonly page: "secrets" | "files" | "new-secret"; readonly query?: string }
  | { readonly page: "set-password"; readonly token: string }
  | {
      readonly page: "secret";
      readonly owner: string;
      readonly name: string;
      /** Opens the value to edit it. */
      readonly edits?: boolean;
    };

const lists = ["secrets", "files", "new-secret"] as const;

const plainPages = [
  "login",
  "sign-up",
  "forgot-password",
  "teams",
  "api-token",
  "connect",
  "account",
  "trash",
] as const;

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Query of a secret whose value is opened to edit it. */
const EDIT = "edit";

/** Parses the address of a secret: its owner and its name, percent-encoded. */
function parseSecret(path: string, query: string): Route {
  const [area, owner, name, ...more] = path.split("/").map(decoded);
  if (area === "secrets" && owner && name && more.length === 0)
    return { page: "secret", owner, name, ...(query === EDIT && { edits: true }) };
  return { page: "unknown" };
}

/** Parses the hash of the address; an empty one is the list of secrets. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/u, "").split("?", 2);
  if (path === "") return { page: "secrets" };
  if (path === "set-password")
    return { page: "set-password", token: new URLSearchParams(query).get("token") ?? "" };
  // Emails sent before 0.1.0 link to the login page by this name.
  if (path === "log-in") return { page: "login" };
  const list = lists.find((page) => page === path);
  if (list) return query === "" ? { page: list } : { page: list, query };
  const plain = plainPages.find((page) => page === path);
  return plain ? { page: plain } : parseSecret(path, query);
}

/** Returns the address of a page, for a link. It never contains a token. */
export function hrefOf(route: Route): string {
  if (route.page === "secret") {
    const path = `#/secrets/${encodeURIComponent(route.owner)}/${encodeURIComponent(route.name)}`;
    return route.edits === true ? `${path}?${EDIT}` : path;
  }
  return "query" in route && route.query ? `#/${route.page}?${route.query}` : `#/${route.page}`;
}

/** Identifies a page: the same for every state of a list. */
export function pageKey(route: Route): string {
  return hrefOf(route).split("?", 1)[0] ?? "";
}

/** Returns the address of a secret's page, to send to others. It grants nothing. */
export function linkOf(owner: string, name: string): string {
  return `${location.origin}${location.pathname}${hrefOf({ page: "secret", owner, name })}`;
}
