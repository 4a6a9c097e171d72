import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Lazy } from "../../parts/loaded-view.tsx";
import type { Route } from "../../routing/route.ts";
import { navigate } from "../../routing/use-route.ts";
import { useSecrets } from "../secrets/secrets-context.ts";
import { singleKeys } from "./single-keys.ts";

type Open = "find" | "help";

const loadFind = async () => (await import("./find-dialog.tsx")).FindDialog;
const loadHelp = async () => (await import("./help-dialog.tsx")).HelpDialog;

function isEditable(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !["checkbox", "radio"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Returns the key that acts on the page, `undefined` for a key that belongs to a field or a dialog. */
function keyOf(event: KeyboardEvent): string | undefined {
  if (event.isComposing || document.querySelector("dialog[open]")) return undefined;
  if (event.altKey) return undefined;
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() === "k" ? "find" : undefined;
  return isEditable(event.target) || !singleKeys.on() ? undefined : event.key;
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  field?.focus();
  return field !== null;
}

/** Returns a function that opens the list, unless it is shown, and focuses its search. */
function useSearch(route: Route): () => void {
  const { list, listQuery } = useSecrets();
  const wanted = useRef(false);
  useEffect(() => {
    if (wanted.current && route.page === "secrets" && focusSearch()) wanted.current = false;
  }, [route, list.loaded]);
  return () => {
    if (route.page === "secrets") {
      focusSearch();
      return;
    }
    wanted.current = true;
    navigate({ page: "secrets", query: listQuery.current });
  };
}

/** Keys that act on every page: `/`, `n`, `?` and Ctrl+K. */
export function Keys({ route }: { readonly route: Route }): VNode {
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const search = useSearch(route);
  useEffect(() => {
    const actions: Readonly<Record<string, () => void>> = {
      find: () => setOpen("find"),
      "?": () => setOpen("help"),
      "/": search,
      n: () => navigate({ page: "new-secret" }),
    };
    const listen = (event: KeyboardEvent): void => {
      const action = actions[keyOf(event) ?? ""];
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
  const onClose = (): void => setOpen(undefined);
  return (
    <>
      {open === "find" && (
        <Lazy load={loadFind} props={{ onClose, onHelp: () => setOpen("help") }} />
      )}
      {open === "help" && <Lazy load={loadHelp} props={{ onClose }} />}
    </>
  );
}
