import type { ComponentChildren, TargetedSubmitEvent, VNode } from "preact";
import type { Action } from "./use-action.ts";
import { FailureNote } from "./failure-note.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface FormProps {
  readonly action: Action;
  /** What the button says. */
  readonly submit: string;
  readonly icon?: IconName;
  readonly variant?: "primary" | "plain" | "danger";
  /** Gets the form, to read its fields. */
  readonly work: (form: HTMLFormElement) => Promise<void>;
  /** Shown beside the button, to leave without doing it; where doing it is a danger, a dialog begins there. */
  readonly onCancel?: () => void;
  readonly children?: ComponentChildren;
}

/** A form that runs an action: its failure stands above the button, which is busy meanwhile. */
export function Form({ action, submit, icon, variant = "primary", work, onCancel, children }: FormProps): VNode {
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    void action.run(() => work(form));
  };
  return (
    <form class="form" onSubmit={onSubmit} aria-busy={action.busy}>
      {children}
      <FailureNote failure={action.failure} />
      <div class="form-buttons">
        <button class={`button ${variant}`} type="submit" aria-disabled={action.busy}>
          {icon && <Icon name={icon} />}
          {submit}
          {action.busy && <span class="spinner" />}
        </button>
        {onCancel && (
          <button class="button" type="button" onClick={onCancel} autofocus={variant === "danger"}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}
