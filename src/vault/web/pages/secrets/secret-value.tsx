import type { ComponentChildren, VNode } from "preact";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { exposeVersion, type SecretAccess } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { valueEnd } from "../../text/value-end.ts";
import { RevealButton } from "./reveal-button.tsx";
import { SaveValueButton } from "./save-value.tsx";
import { useRevealed } from "./use-revealed.ts";

interface SecretValueProps {
  readonly access: SecretAccess;
  readonly version: number;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

/** Shows a revealed value with the time that is left, or that it is hidden. */
export function ValueBox({ value }: { readonly value: string | undefined }): VNode {
  if (value === undefined) {
    return (
      <p class="value masked">
        <span aria-hidden="true">••••••••••••</span>
        <span class="visually-hidden">Hidden</span>
      </p>
    );
  }
  const end = valueEnd(value);
  return (
    <>
      <div class="value-box">
        <pre class="value shown" tabIndex={0} role="group" aria-label="Value">
          {value === "" ? <em>(empty)</em> : value}
        </pre>
        <span class="time-left" aria-hidden="true" />
      </div>
      {end !== undefined && <p class="hint">{end}</p>}
    </>
  );
}

/**
 * Value of one version. It is fetched on request, and removed from the page after 30 seconds, on
 * request, and when the page or the tab is left. Copying does not show it.
 */
export function SecretValue({ access, version, children }: SecretValueProps): VNode {
  const client = useClient();
  const fetchValue = async (): Promise<string> =>
    (await exposeVersion(client, access, version)).key_value;
  const revealed = useRevealed(fetchValue);
  const { value, action } = revealed;
  return (
    <div class="secret-value">
      <ValueBox value={value} />
      <FailureNote failure={action.failure} />
      <div class="buttons">
        <RevealButton revealed={revealed} show="Reveal value" hide="Hide value" />
        <CopyButton what="value" text={fetchValue} />
        <SaveValueButton name={access.key_name} fetchValue={fetchValue} />
        {children}
      </div>
      {value !== undefined && <p class="hint">Hidden automatically after 30 seconds.</p>}
    </div>
  );
}
