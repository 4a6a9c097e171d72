import { useEffect, useState } from "preact/hooks";
import { hrefOf, parseRoute, type Route } from "./route.ts";

/** Reads the address; a token in it is removed from the address bar and the history at once. */
function readRoute(): Route {
  const route = parseRoute(location.hash);
  if (route.page === "set-password" && route.token !== "") history.replaceState(null, "", hrefOf(route));
  return route;
}

/** The page that the address names, as it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const follow = (): void => setRoute(readRoute());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

export function navigate(route: Route): void {
  location.hash = hrefOf(route);
}

/** Goes there without a way back to here. */
export function replaceRoute(route: Route): void {
  location.replace(hrefOf(route));
}
