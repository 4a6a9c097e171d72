import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useTitleFocus } from "../../parts/page-heading.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { Canceled, useAction, useStop } from "../../parts/use-action.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { secretId } from "./use-selection.ts";

export interface BatchProps {
  readonly secrets: readonly SecretRecord[];
  /** Reloads the list. */
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

/** Work on secrets, several in one request. */
export interface BatchWork {
  /** Returns the secrets of each request. */
  readonly split: (secrets: readonly SecretRecord[]) => SecretRecord[][];
  /** Acts on all of these secrets, or on none. */
  readonly send: (secrets: readonly SecretRecord[]) => Promise<void>;
}

interface BatchDialogProps extends BatchProps {
  readonly title: string;
  /** Label of the confirm button. */
  readonly confirm: string;
  readonly variant: "primary" | "danger";
  /** Says what will happen to a secret, and what has happened to it. */
  readonly plan: (secret: SecretRecord) => string;
  readonly outcome: (secret: SecretRecord) => string;
  /** Reads the form. Once a secret is done, trying again continues the same work. */
  readonly prepare: (form: HTMLFormElement) => BatchWork;
  /** Says for how many secrets the work is done, and for how many it is not. */
  readonly tally: (done: number, rest: number) => string;
  /** Message after the work on all of them: `Deleted 3 secrets.` */
  readonly done: string;
  /** Reports the work instead of a plain message. */
  readonly report?: ((text: string) => void) | undefined;
  readonly children?: ComponentChildren;
}

/** Outcome by `secretId`: `done`, or the reason of a failure. */
type Results = ReadonlyMap<string, { readonly done: boolean; readonly text: string }>;

/** Reports that further requests would fail as well: no response, too many requests, or no team. */
function endsWork({ status, code }: RequestError): boolean {
  return status === 0 || status === 429 || code === "team_not_found";
}

/** Splits secrets into batches of at most `size`, at least 1. */
export function batchesOf(secrets: readonly SecretRecord[], size: number): SecretRecord[][] {
  const step = Math.max(1, size);
  return Array.from({ length: Math.ceil(secrets.length / step) }, (_, at) =>
    secrets.slice(at * step, (at + 1) * step),
  );
}

/**
 * Works through the secrets until the signal is aborted. A batch that fails is repeated secret by
 * secret, to find the reason of each. @throws Canceled
 */
async function workThrough(
  secrets: readonly SecretRecord[],
  { split, send }: BatchWork,
  signal: AbortSignal,
  report: (batch: readonly SecretRecord[], failure: RequestError | undefined) => void,
): Promise<void> {
  const queue = split(secrets);
  for (let batch = queue.shift(); batch && !signal.aborted; batch = queue.shift()) {
    try {
      await send(batch);
      report(batch, undefined);
    } catch (error) {
      if (error instanceof Canceled) throw error;
      const failure = toRequestError(error);
      const ends = endsWork(failure);
      if (batch.length > 1 && !ends) queue.unshift(...batchesOf(batch, 1));
      else report(batch, failure);
      if (ends) return;
    }
  }
}

type ResultListProps = Pick<BatchDialogProps, "secrets" | "plan"> & {
  readonly results: Results;
  /** Lists failures first, once the work has ended. */
  readonly failed: boolean;
};

function ResultList({ secrets, plan, results, failed }: ResultListProps): VNode {
  const rank = (secret: SecretRecord): number =>
    failed && results.get(secretId(secret))?.done !== true ? 0 : 1;
  return (
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
  );
}

/**
 * Lists the selected secrets and acts on them after a confirmation. If some fail, or the user stops
 * the work, it stays open and says which ones are done; confirming again repeats only the rest, with
 * the same fields.
 */
export function BatchDialog(props: BatchDialogProps): VNode {
  const { title, confirm, variant, plan, outcome, prepare, tally, done, secrets, children } = props;
  const { onChange, onClose } = props;
  const [results, setResults] = useState<Results>(new Map());
  const action = useAction();
  const toast = useToast();
  const stop = useStop();
  const started = useRef<BatchWork | undefined>(undefined);
  const focusTitle = useTitleFocus();
  const isDone = (secret: SecretRecord, of: Results): boolean =>
    of.get(secretId(secret))?.done === true;
  const countOf = (of: Results): number => secrets.filter((secret) => isDone(secret, of)).length;
  const run = async (form: HTMLFormElement): Promise<void> => {
    // What the fields refer to may have changed, such as the creator of a team.
    const work = (countOf(results) > 0 ? started.current : undefined) ?? prepare(form);
    started.current = work;
    // A field that is locked would lose the focus.
    form.querySelector<HTMLElement>('[type="submit"]')?.focus();
    const next = new Map(results);
    const rest = secrets.filter((secret) => !isDone(secret, next));
    await workThrough(rest, work, stop.start(), (batch, failure) => {
      for (const secret of batch)
        next.set(secretId(secret), { done: !failure, text: failure?.message ?? outcome(secret) });
      setResults(new Map(next));
    });
    await onChange();
    const finished = countOf(next);
    if (finished < secrets.length)
      throw new RequestError("partly_done", tally(finished, secrets.length - finished));
    (props.report ?? toast)(done);
    focusTitle();
    onClose();
  };
  const finished = countOf(results);
  return (
    <Dialog title={title} onClose={onClose} onEscape={action.busy ? stop.stop : undefined}>
      <Form
        action={action}
        submit={results.size > 0 && !action.busy ? "Try again" : confirm}
        variant={variant}
        work={run}
        cancel={results.size > 0 ? "Close" : "Cancel"}
        onCancel={onClose}
        onStop={stop.stop}
      >
        <ResultList {...{ secrets, plan, results }} failed={action.failure !== undefined} />
        <p class="hint" role="status">
          {action.busy && tally(finished, secrets.length - finished)}
        </p>
        <fieldset class="lockable" disabled={action.busy || finished > 0}>
          {children}
        </fieldset>
      </Form>
    </Dialog>
  );
}
