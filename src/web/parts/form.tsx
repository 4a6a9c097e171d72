import type { ComponentChildren, TargetedSubmitEvent, VNode } from "preact";
import type { Action } from "./use-action.ts";
import { FailureNote } from "./failure-note.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface FormProps {
  readonly action: Action;
  /** Label of the submit button. */
  readonly submit: string;
  readonly icon?: IconName;
  readonly variant?: "primary" | "plain" | "danger";
  /** Receives the form, to read its fields. */
  readonly work: (form: HTMLFormElement) => Promise<void>;
  /** Adds a cancel button, which has the initial focus in a dangerous form. */
  readonly onCancel?: () => void;
  readonly children?: ComponentChildren;
}

/** A form that runs an action, shows its failure, and marks the button as busy. */
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
