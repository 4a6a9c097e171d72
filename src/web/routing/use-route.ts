import { useEffect, useState } from "preact/hooks";
import { hrefOf, parseRoute, type Route } from "./route.ts";

/** Reads the address, and removes a token in it from the address bar and the history. */
function readRoute(): Route {
  const route = parseRoute(location.hash);
  if (route.page === "set-password" && route.token !== "") history.replaceState(null, "", hrefOf(route));
  return route;
}

/** Returns the route of the current address and follows its changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const follow = (): void => setRoute(readRoute());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Opens a page and adds it to the history. */
export function navigate(route: Route): void {
  location.hash = hrefOf(route);
}

/** Opens a page in place of the current history entry. */
export function replaceRoute(route: Route): void {
  location.replace(hrefOf(route));
}
