/** Forms that may have text which a user would have to type again. The text stays in the forms. */
const forms = new Set<HTMLFormElement>();

/** Watches a form: leaving its page asks first while it has typed text. */
export function watchForm(form: HTMLFormElement): void {
  forms.add(form);
}

/** Ends the watch, when the form is closed, emptied or its text is saved. */
export function unwatchForm(form: HTMLFormElement): void {
  forms.delete(form);
}

/** The user's own passwords can be typed again, and a password manager fills them in. */
function isOwnPassword({ autocomplete }: HTMLInputElement): boolean {
  return autocomplete === "current-password" || autocomplete === "new-password";
}

/**
 * Returns the text of an input. Browsers drop the line breaks of the text that an input starts with:
 * unless it was edited, it is returned with them.
 */
export function inputText({ value, defaultValue }: HTMLInputElement): string {
  return value === defaultValue.replaceAll(/[\r\n]/gu, "") ? defaultValue : value;
}

function isTyped(control: Element): boolean {
  if (control instanceof HTMLTextAreaElement) return control.value !== control.defaultValue;
  if (!(control instanceof HTMLInputElement) || isOwnPassword(control)) return false;
  return (
    !["checkbox", "radio", "hidden"].includes(control.type) &&
    inputText(control) !== control.defaultValue
  );
}

/** Reports whether the text of a watched form is being saved. */
export function isSavingText(): boolean {
  return [...forms].some((form) => form.ariaBusy === "true");
}

/** Reports whether a watched form has typed text; `within` limits this to one part of the page. */
export function hasTypedText(within: Node = document): boolean {
  return [...forms].some((form) => within.contains(form) && [...form.elements].some(isTyped));
}
