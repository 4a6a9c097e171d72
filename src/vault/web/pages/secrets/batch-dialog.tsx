import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { secretId } from "./use-selection.ts";

export interface BatchProps {
  readonly secrets: readonly SecretRecord[];
  /** Reloads the list. */
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

interface BatchDialogProps extends BatchProps {
  readonly title: string;
  /** Label of the confirm button. */
  readonly confirm: string;
  readonly variant: "primary" | "danger";
  /** Says what will happen to a secret, and what has happened to it. */
  readonly plan: (secret: SecretRecord) => string;
  readonly outcome: (secret: SecretRecord) => string;
  /** Acts on one secret. */
  readonly work: (secret: SecretRecord, form: HTMLFormElement) => Promise<void>;
  /** Message after the work on all of them: `Deleted 3 secrets.` */
  readonly done: string;
  readonly children?: ComponentChildren;
}

/** Outcome by `secretId`: `done`, or the reason of a failure. */
type Results = ReadonlyMap<string, { readonly done: boolean; readonly text: string }>;

/** Reports that the vault did not respond: the rest would wait for it one after another. */
function isWithoutResponse({ status }: RequestError): boolean {
  return status === 0;
}

/**
 * Lists the selected secrets and acts on them one by one, after a confirmation. If some fail it
 * stays open and says which ones and why; confirming again repeats only those.
 */
export function BatchDialog(props: BatchDialogProps): VNode {
  const {
    title,
    confirm,
    variant,
    plan,
    outcome,
    work,
    done,
    secrets,
    onChange,
    onClose,
    children,
  } = props;
  const [results, setResults] = useState<Results>(new Map());
  const action = useAction();
  const toast = useToast();
  const run = async (form: HTMLFormElement): Promise<void> => {
    const next = new Map(results);
    for (const secret of secrets.filter(
      (candidate) => next.get(secretId(candidate))?.done !== true,
    )) {
      try {
        await work(secret, form);
        next.set(secretId(secret), { done: true, text: outcome(secret) });
      } catch (error) {
        const failure = toRequestError(error);
        next.set(secretId(secret), { done: false, text: failure.message });
        if (isWithoutResponse(failure)) break;
      } finally {
        setResults(new Map(next));
      }
    }
    await onChange();
    const finished = [...next.values()].filter((result) => result.done).length;
    if (finished < secrets.length) {
      throw new RequestError(
        "partly_done",
        `${finished} of ${secrets.length} done, ${secrets.length - finished} not.`,
      );
    }
    toast(done);
    onClose();
  };
  // Failures first, once the work has ended.
  const rank = (secret: SecretRecord): number =>
    action.failure && results.get(secretId(secret))?.done !== true ? 0 : 1;
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={action}
        submit={results.size > 0 && !action.busy ? "Try again" : confirm}
        variant={variant}
        work={run}
        onCancel={onClose}
      >
        <ul class="batch" tabIndex={0} aria-label="Selected secrets">
          {secrets
            .toSorted((left, right) => rank(left) - rank(right))
            .map((secret) => {
              const result = results.get(secretId(secret));
              return (
                <li key={secretId(secret)}>
                  <strong class="break">{secret.key_name}</strong>
                  <span class={result ? `batch-result ${result.done ? "good" : "bad"}` : "quiet"}>
                    {result?.text ?? plan(secret)}
                  </span>
                </li>
              );
            })}
        </ul>
        {children}
      </Form>
    </Dialog>
  );
}
