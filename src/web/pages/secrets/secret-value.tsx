import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { browserClock } from "../../service/browser-clock.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useAction } from "../../parts/use-action.ts";
import { exposeVersion, type SecretAccess } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";

/** Time in ms after which a revealed value is hidden again. */
const SHOWN_MS = 30_000;

interface SecretValueProps {
  readonly access: SecretAccess;
  readonly version: number;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

function ValueBox({ value }: { readonly value: string | undefined }): VNode {
  if (value === undefined) {
    return (
      <p class="value masked">
        <span aria-hidden="true">••••••••••••</span>
        <span class="visually-hidden">Hidden</span>
      </p>
    );
  }
  return (
    <div class="value-box">
      <pre class="value shown" tabIndex={0} role="status" aria-label="Value">
        {value === "" ? <em>(empty)</em> : value}
      </pre>
      <span class="time-left" aria-hidden="true" />
    </div>
  );
}

/**
 * Value of one version. It is fetched on request, and removed from the page after 30 seconds, on request, and when the page or the tab
 * is left. Copying does not show it.
 */
export function SecretValue({ access, version, children }: SecretValueProps): VNode {
  const client = useClient();
  const action = useAction();
  const [value, setValue] = useState<string | undefined>(undefined);
  const hide = useCallback(() => setValue(undefined), []);
  useEffect(() => {
    if (value === undefined) return;
    addEventListener("pagehide", hide);
    // In another tab the user may log out.
    document.addEventListener("visibilitychange", hide);
    const cancel = browserClock.after(SHOWN_MS, hide);
    return () => {
      removeEventListener("pagehide", hide);
      document.removeEventListener("visibilitychange", hide);
      cancel();
    };
  }, [value, hide]);
  const reveal = (): void => void action.run(async () => setValue((await exposeVersion(client, access, version)).key_value));
  const shown = value !== undefined;
  return (
    <div class="secret-value">
      <ValueBox value={value} />
      <FailureNote failure={action.failure} />
      <div class="buttons">
        <button class="button" type="button" onClick={shown ? hide : reveal} aria-disabled={action.busy}>
          <Icon name={shown ? "eye-off" : "eye"} />
          {shown ? "Hide value" : "Reveal value"}
        </button>
        <CopyButton what="value" text={async () => (await exposeVersion(client, access, version)).key_value} />
        {children}
      </div>
      {shown && <p class="hint">Hidden automatically after 30 seconds.</p>}
    </div>
  );
}
