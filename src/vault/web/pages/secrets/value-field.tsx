import type { TargetedClipboardEvent, VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { FileButton, useFileDrop, type FileDrop } from "../../parts/file-input.tsx";
import { Icon } from "../../parts/icon.tsx";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { fileValue, MAX_VALUE_BYTES, valueEnd, type FileValue } from "../../text/value-format.ts";
import { PasswordGenerator } from "./password-generator.tsx";
import { sizeText } from "../../text/formats.ts";

/** Returns a value to store unchanged, under the name of its source. */
export function unchangedValue(name: string, text: string): ChosenFile {
  return { name, text, format: "text", bytes: new Blob([text]).size };
}

export interface ChosenFile extends FileValue {
  readonly name: string;
  readonly bytes: number;
}

export interface ValueInput {
  readonly file: ChosenFile | undefined;
  readonly setFile: (file: ChosenFile | undefined) => void;
  readonly area: { readonly current: HTMLTextAreaElement | null };
  /** True while the text is readable in the field. */
  readonly shown: boolean;
  readonly setShown: (shown: boolean) => void;
}

/** State of a `ValueField`. It conceals the text when the user leaves the tab. */
export function useValueInput(initiallyShown = false, initialFile?: ChosenFile): ValueInput {
  const [file, setFile] = useState(initialFile);
  const [shown, setShown] = useState(initiallyShown);
  useEffect(() => {
    const conceal = (): void => setShown(false);
    document.addEventListener("visibilitychange", conceal);
    return () => document.removeEventListener("visibilitychange", conceal);
  }, []);
  return { file, setFile, area: useRef<HTMLTextAreaElement>(null), shown, setShown };
}

const tooLarge = (): RequestError =>
  new RequestError(
    "too_large",
    `The value is too large: at most ${sizeText(MAX_VALUE_BYTES)}.`,
    0,
    [{ path: "key_value", reason: `At most ${sizeText(MAX_VALUE_BYTES)}.` }],
  );

/** Returns the content of the file, or the typed text without one. */
function contentOf({ file }: ValueInput, typed: string): string {
  return file?.text ?? typed;
}

/**
 * Returns the value of a `ValueField`: the content of the file, or the text. @throws RequestError
 * when it is too large
 */
export function readValue(input: ValueInput): string {
  const value = contentOf(input, input.area.current?.value ?? "");
  if (new Blob([value]).size > MAX_VALUE_BYTES) throw tooLarge();
  return value;
}

function FileSummary({
  file,
  onRemove,
}: {
  readonly file: ChosenFile;
  readonly onRemove: () => void;
}): VNode {
  return (
    <div class="value file-summary">
      <span>
        <strong class="break">{file.name}</strong>, {sizeText(file.bytes)},{" "}
        {file.format === "text" ? "text, stored byte for byte" : "not text: stored as Base64"}
      </span>
      <button class="button" type="button" onClick={onRemove}>
        Remove file
      </button>
    </div>
  );
}

const noValue = (reason: string): RequestError => new RequestError("no_value", reason);

/** Reads a file as a value. @throws RequestError that says why it is none */
export async function readFile(file: File): Promise<ChosenFile> {
  const { name, size } = file;
  if (size > MAX_VALUE_BYTES) {
    const limit = sizeText(MAX_VALUE_BYTES);
    const text = `${name} has ${sizeText(size)}; a value has at most ${limit}.`;
    throw noValue(`${text} Upload it under Files.`);
  }
  const bytes = await file.arrayBuffer().catch(() => {
    throw noValue(`${name} cannot be read.`);
  });
  return { ...fileValue(new Uint8Array(bytes)), name, bytes: size };
}

/**
 * Characters that are shown as dots: laying out a line of 1 MiB as dots takes half a minute. Longer
 * texts become invisible.
 */
const MAX_DOTS = 10_000;

/** Conceals a text of this length before the browser lays it out. */
function concealLength(area: HTMLTextAreaElement, length: number): void {
  area.toggleAttribute("data-long", length > MAX_DOTS);
}

/** Returns why a text is too long to paste: a field with many megabytes would block the page. */
function pasteProblem(text: string): string | undefined {
  const { size } = new Blob([text]);
  if (size <= MAX_VALUE_BYTES) return undefined;
  return `The pasted text has ${sizeText(size)}; a value has at most ${sizeText(MAX_VALUE_BYTES)}. Nothing was pasted.`;
}

interface FileChoice {
  /** Text that says why a file or a pasted text is not taken. */
  readonly problem: string | undefined;
  readonly setProblem: (problem: string | undefined) => void;
  readonly choose: (file: ChosenFile | undefined) => void;
  readonly read: (file: File) => void;
  readonly drop: FileDrop;
}

/** Takes a chosen or dropped file as the value. */
function useFileChoice({ setFile }: ValueInput): FileChoice {
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const choose = (chosen: ChosenFile | undefined): void => {
    setProblem(undefined);
    setFile(chosen);
  };
  const read = (chosen: File): void => {
    readFile(chosen).then(choose, (error: unknown) => setProblem(toRequestError(error).message));
  };
  const drop = useFileDrop(([first]) => first && read(first));
  return { problem, setProblem, choose, read, drop };
}

interface ValueFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly input: ValueInput;
  readonly failure: RequestError | undefined;
  readonly autofocus?: boolean;
  /** Text to start with. */
  readonly initial?: string | undefined;
  /** Receives the typed text. */
  readonly onText?: (text: string) => void;
}

/**
 * The value of a secret: typed and hidden until asked for, generated, or the content of a file.
 * `readValue` reads it.
 */
export function ValueField({
  label,
  hint,
  input,
  failure,
  autofocus = false,
  initial = "",
  onText,
}: ValueFieldProps): VNode {
  const id = useId();
  const { problem, setProblem, choose, read, drop } = useFileChoice(input);
  const { file, area, shown, setShown } = input;
  const [typed, setTyped] = useState(initial);
  const reason = problem ?? failure?.reason("key_value");
  useLayoutEffect(() => {
    if (!area.current) return;
    area.current.defaultValue = initial;
    concealLength(area.current, initial.length);
    if (autofocus) area.current.focus();
  }, [autofocus, initial, area]);
  const use = (password: string): void => {
    if (!area.current) return;
    area.current.value = password;
    area.current.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const onPaste = (event: TargetedClipboardEvent<HTMLTextAreaElement>): void => {
    const pasted = event.clipboardData?.getData("text") ?? "";
    const tooLong = pasteProblem(pasted);
    if (tooLong === undefined) {
      concealLength(event.currentTarget, event.currentTarget.value.length + pasted.length);
      return;
    }
    event.preventDefault();
    setProblem(tooLong);
  };
  return (
    <div class="field" {...drop}>
      <label for={id}>{label}</label>
      {file && <FileSummary file={file} onRemove={() => choose(undefined)} />}
      <textarea
        ref={area}
        id={id}
        name="key_value"
        class={shown ? "code" : "code concealed"}
        rows={initial === "" ? 4 : 12}
        hidden={file !== undefined}
        autocomplete="off"
        spellcheck={false}
        onPaste={onPaste}
        onInput={({ currentTarget }) => {
          setProblem(undefined);
          concealLength(currentTarget, currentTarget.value.length);
          setTyped(currentTarget.value);
          onText?.(currentTarget.value);
        }}
        aria-describedby={`${id}-hint ${id}-reason`}
        {...(reason !== undefined && { "aria-invalid": "true" as const })}
      />
      <p class="reason" id={`${id}-reason`} role="alert">
        {reason}
      </p>
      <p class="hint" id={`${id}-hint`}>
        {hint} {valueEnd(contentOf(input, typed))}
      </p>
      {!file && (
        <div class="buttons">
          <button class="button" type="button" onClick={() => setShown(!shown)}>
            <Icon name={shown ? "eye-off" : "eye"} />
            {shown ? "Hide" : "Show"}
          </button>
          <FileButton onFile={read} />
          <PasswordGenerator onUse={use} />
        </div>
      )}
    </div>
  );
}
