import type {
  ComponentChildren,
  RefObject,
  TargetedKeyboardEvent,
  TargetedSubmitEvent,
  VNode,
} from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { inputText, unwatchForm, watchForm } from "../routing/typed-text.ts";
import { RequestError, toRequestError } from "../service/request-error.ts";
import { useToast } from "./toasts.tsx";
import { type Action, useShown } from "./use-action.ts";
import { FailureNote } from "./notes.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface FormProps {
  readonly action: Action;
  /** Label of the submit button. */
  readonly submit: string;
  readonly icon?: IconName;
  readonly variant?: "primary" | "plain" | "danger";
  /** Receives the form, to read its fields, and the value of the button that submits it. */
  readonly work: (form: HTMLFormElement, button: string) => Promise<void>;
  /** A further button that submits the form. */
  readonly further?: { readonly label: string; readonly value: string };
  /** Adds a cancel button; in a dangerous form it has the initial focus. */
  readonly onCancel?: () => void;
  readonly cancel?: string;
  /** Ends the work: the cancel button does it while the work is in progress. */
  readonly onStop?: () => void;
  /**
   * Leaving the page asks while the form has typed text: the default. Use `defaultValue` for text
   * that was not typed.
   */
  readonly keepsText?: boolean;
  readonly children?: ComponentChildren;
}

/** Refusals of the vault that only say which fields are wrong. */
const FROM_FIELDS: ReadonlySet<string> = new Set(["invalid_request", "invalid_credentials"]);

/** Returns the failure for the note of a form: what its fields say already is not repeated. */
function noted(
  failure: RequestError | undefined,
  form: HTMLFormElement | null,
): RequestError | undefined {
  if (!form || !failure || failure.status === 0 || failure.details.length === 0) return failure;
  if (!FROM_FIELDS.has(failure.code)) return failure;
  const names = [...form.elements].map((control) => control.getAttribute("name"));
  const isMarked = ({ path }: { readonly path: string }): boolean =>
    names.some((name) => name !== null && (path === name || path.startsWith(`${name}.`)));
  if (!failure.details.every(isMarked)) return failure;
  return new RequestError(
    failure.code,
    "Correct the marked field, then try again.",
    failure.status,
    failure.details,
  );
}

/** Watches a form from its first input until it is closed. */
function useWatch(keepsText: boolean): RefObject<HTMLFormElement | null> {
  const ref = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const form = ref.current;
    if (!form || !keepsText) return;
    const watch = (): void => watchForm(form);
    watch();
    form.addEventListener("input", watch);
    return () => {
      form.removeEventListener("input", watch);
      unwatchForm(form);
    };
  }, [keepsText]);
  return ref;
}

/**
 * A form that runs an action, shows its failure, and marks the button as busy. Ctrl+Enter submits
 * it from any field.
 */
export function Form({
  action,
  submit,
  icon,
  variant = "primary",
  work,
  onCancel,
  cancel = "Cancel",
  onStop,
  further,
  keepsText = true,
  children,
}: FormProps): VNode {
  const ref = useWatch(keepsText);
  const toast = useToast();
  const isShown = useShown();
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const { submitter } = event;
    const button = submitter instanceof HTMLButtonElement ? submitter.value : "";
    void action.run(async () => {
      try {
        await work(form, button);
      } catch (error) {
        // The note of this form is not in the page any more.
        if (keepsText && !isShown()) toast(toRequestError(error).message, "bad");
        throw error;
      }
      unwatchForm(form);
    });
  };
  const onCancelClick = (): void => {
    if (action.busy && onStop) {
      onStop();
      return;
    }
    if (ref.current && !action.busy) unwatchForm(ref.current);
    onCancel?.();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLFormElement>): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || variant === "danger") return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  return (
    <form ref={ref} class="form" onSubmit={onSubmit} onKeyDown={onKeyDown} aria-busy={action.busy}>
      {children}
      <FailureNote failure={noted(action.failure, ref.current)} />
      <div class="form-buttons">
        <button class={`button ${variant}`} type="submit" aria-disabled={action.busy}>
          {icon && <Icon name={icon} />}
          {submit}
          {action.busy && <span class="spinner" />}
        </button>
        {further && (
          <button class="button" type="submit" value={further.value} aria-disabled={action.busy}>
            {further.label}
          </button>
        )}
        {onCancel && (
          <button
            class="button"
            type="button"
            onClick={onCancelClick}
            autofocus={variant === "danger"}
          >
            {action.busy && onStop ? "Stop" : cancel}
          </button>
        )}
      </div>
    </form>
  );
}

/** Returns the current text of a form field, or an empty string without such a field. */
export function formText(form: HTMLFormElement, name: string): string {
  const control = form.elements.namedItem(name);
  if (control instanceof HTMLInputElement) return inputText(control);
  const isControl = control instanceof HTMLTextAreaElement || control instanceof HTMLSelectElement;
  return isControl ? control.value : "";
}
