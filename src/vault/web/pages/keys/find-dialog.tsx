import type { TargetedKeyboardEvent, VNode } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { navigate } from "../../routing/use-route.ts";
import { browserClock } from "../../service/browser-clock.ts";
import { useClient } from "../../session/client-context.ts";
import { firstView, selectSecrets } from "../secrets/list-view.ts";
import { useKnownSecrets } from "../secrets/secrets-context.ts";
import { secretId } from "../secrets/use-selection.ts";

const MAX_SHOWN = 8;

interface FindDialogProps {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

/** Finds a secret by words of its name, owner or metadata, and opens it. */
export function FindDialog({ onClose, onHelp }: FindDialogProps): VNode {
  const { email } = useClient();
  const secrets = useKnownSecrets();
  const id = useId();
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(
    () => selectSecrets(secrets, { ...firstView, search }, email, browserClock.now()),
    [secrets, search, email],
  );
  const shown = found.slice(0, MAX_SHOWN);
  const open = (secret: SecretRecord | undefined): void => {
    if (!secret) return;
    onClose();
    navigate({ page: "secret", owner: secret.owner, name: secret.key_name });
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && shown.length > 0) {
      event.preventDefault();
      setAt((at + step + shown.length) % shown.length);
    }
    if (event.key === "Enter") open(shown[at]);
  };
  return (
    <Dialog title="Open a secret" onClose={onClose}>
      <div class="form">
        <label class="field">
          <span>Search</span>
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={shown[at] && `${id}-${at}`}
            autocomplete="off"
            spellcheck={false}
            autofocus
            onInput={(event) => {
              setSearch(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
        </label>
        <ul id={id} class="found" role="listbox" aria-label="Secrets">
          {shown.map((secret, index) => (
            <li
              key={secretId(secret)}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              onClick={() => open(secret)}
            >
              <NameText name={secret.key_name} />
              {secret.owner !== email && <span class="quiet break">{secret.owner}</span>}
            </li>
          ))}
        </ul>
        <p class="hint" role="status">
          {found.length > shown.length ? `${found.length} found` : ""}
          {found.length === 0 ? "None found" : ""}
        </p>
        <div class="form-buttons">
          <button class="button" type="button" onClick={onHelp}>
            All keys
          </button>
          <button class="button" type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
