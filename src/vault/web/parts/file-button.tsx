import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Lets the user choose a file. */
export function FileButton({ onFile }: { readonly onFile: (file: File) => void }): VNode {
  const input = useRef<HTMLInputElement>(null);
  const onChange = (): void => {
    const [file] = input.current?.files ?? [];
    if (file) onFile(file);
    // Reset: the same file can then be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <>
      <button class="button" type="button" onClick={() => input.current?.click()}>
        <Icon name="file" />
        From file
      </button>
      <input ref={input} type="file" hidden onChange={onChange} />
    </>
  );
}
