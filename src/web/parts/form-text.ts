/** What stands in a form's field now; nothing when it has no such field. */
export function formText(form: HTMLFormElement, name: string): string {
  const control = form.elements.namedItem(name);
  const isControl =
    control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement || control instanceof HTMLSelectElement;
  return isControl ? control.value : "";
}
