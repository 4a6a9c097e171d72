/** Returns the current text of a form field, or an empty string without such a field. */
export function formText(form: HTMLFormElement, name: string): string {
  const control = form.elements.namedItem(name);
  const isControl =
    control instanceof HTMLInputElement ||
    control instanceof HTMLTextAreaElement ||
    control instanceof HTMLSelectElement;
  return isControl ? control.value : "";
}
