/** The addresses in a text field, apart by commas, semicolons, spaces or lines. */
export function emailList(text: string): string[] {
  return text.split(/[\s,;]+/u).filter((part) => part !== "");
}
