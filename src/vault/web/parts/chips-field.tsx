import type {
  TargetedClipboardEvent,
  TargetedInputEvent,
  TargetedKeyboardEvent,
  VNode,
} from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { RequestError } from "../service/request-error.ts";
import { emailList } from "../text/email-list.ts";
import { Field } from "./field.tsx";

/** A suggestion; its label says more about it. */
export interface Suggestion {
  readonly value: string;
  readonly label?: string | undefined;
}

/** Note on an entry; `warn` asks to check it. */
export interface Mark {
  readonly text: string;
  readonly warn: boolean;
}

interface ChipsFieldProps {
  readonly label: string;
  /** Name of the field that has all entries, separated by commas. */
  readonly name: string;
  readonly placeholder: string;
  readonly failure: RequestError | undefined;
  readonly suggestions: readonly Suggestion[];
  readonly markOf: (entry: string) => Mark | undefined;
  /** Receives all entries, separated by commas. */
  readonly onText?: (text: string) => void;
}

/** Returns the entries of a text: addresses one by one, anything else as a whole. */
function entriesOf(text: string): readonly string[] {
  if (text.includes("@")) return emailList(text);
  return text.trim() === "" ? [] : [text.trim()];
}

interface ChosenListProps extends Pick<ChipsFieldProps, "label" | "markOf"> {
  readonly chosen: readonly string[];
  readonly onRemove: (entry: string) => void;
}

function ChosenList({ label, chosen, markOf, onRemove }: ChosenListProps): VNode {
  return (
    <ul class="chosen" aria-label={`${label}: chosen`}>
      {chosen.map((entry) => {
        const mark = markOf(entry);
        return (
          <li key={entry}>
            <bdi class="break">{entry}</bdi>
            {mark && <span class={mark.warn ? "badge warn" : "badge"}>{mark.text}</span>}
            <button
              class="remove"
              type="button"
              aria-label={`Remove ${entry}`}
              onClick={() => onRemove(entry)}
            />
          </li>
        );
      })}
    </ul>
  );
}

interface Chips {
  readonly chosen: readonly string[];
  readonly typed: string;
  readonly setTyped: (text: string) => void;
  /** All entries, separated by commas. */
  readonly all: string;
  readonly add: (text: string) => void;
  readonly remove: (entry: string) => void;
  /** Last change, for screen readers. */
  readonly status: string;
}

/** Holds the entries of a field, and what is still typed. */
function useChips(onText: ((text: string) => void) | undefined): Chips {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState("");
  const [status, setStatus] = useState("");
  const all = [...chosen, typed].filter((entry) => entry.trim() !== "").join(", ");
  useEffect(() => onText?.(all), [all]);
  const add = (text: string): void => {
    const entries = entriesOf(text);
    setChosen([...new Set([...chosen, ...entries])]);
    setTyped("");
    setStatus(`Added ${entries.join(", ")}`);
  };
  const remove = (entry: string): void => {
    setChosen(chosen.filter((each) => each !== entry));
    setStatus(`Removed ${entry}`);
  };
  return { chosen, typed, setTyped, all, add, remove, status };
}

/**
 * An input of several entries. Enter, a comma after an address, pasted addresses and a suggestion
 * add one as a chip; what is still typed counts, too.
 */
export function ChipsField(props: ChipsFieldProps): VNode {
  const { label, name: fieldName, placeholder, failure, suggestions, markOf, onText } = props;
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const { chosen, typed, setTyped, all, add, remove, status } = useChips(onText);
  const removeChip = (entry: string): void => {
    remove(entry);
    input.current?.focus();
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const { key } = event;
    const last = chosen.at(-1);
    if (event.ctrlKey || event.metaKey || event.isComposing) return;
    if (typed === "" && key === "Backspace" && last !== undefined) remove(last);
    const separates = key === "Enter" || (typed.includes("@") && [",", ";", " "].includes(key));
    if (typed.trim() === "" || !separates) return;
    event.preventDefault();
    add(typed);
  };
  const onInput = (event: TargetedInputEvent<HTMLInputElement>): void => {
    const { value } = event.currentTarget;
    // A suggestion was chosen.
    if (event instanceof InputEvent && event.inputType === "insertReplacementText") add(value);
    else setTyped(value);
  };
  const onPaste = (event: TargetedClipboardEvent<HTMLInputElement>): void => {
    const text = event.clipboardData?.getData("text") ?? "";
    if (typed !== "" || !text.includes("@")) return;
    event.preventDefault();
    add(text);
  };
  return (
    <Field
      label={label}
      name={fieldName}
      failure={failure}
      control={({ name, ...attributes }) => (
        <>
          {chosen.length > 0 && (
            <ChosenList label={label} chosen={chosen} markOf={markOf} onRemove={removeChip} />
          )}
          <input
            {...attributes}
            ref={input}
            list={list}
            value={typed}
            required={chosen.length === 0}
            placeholder={placeholder}
            autocomplete="off"
            spellcheck={false}
            onKeyDown={onKeyDown}
            onInput={onInput}
            onPaste={onPaste}
          />
          {/* No `type="hidden"`: its text counts as typed. */}
          <textarea hidden name={name} value={all} />
          <datalist id={list}>
            {suggestions
              .filter(({ value }) => !chosen.includes(value))
              .map(({ value, label: words }) => (
                <option key={value} value={value} label={words} />
              ))}
          </datalist>
          <span class="visually-hidden" role="status">
            {status}
          </span>
        </>
      )}
    />
  );
}
