/** Splits the text of a field into email addresses, at commas, semicolons and white space. */
export function emailList(text: string): string[] {
  return text.split(/[\s,;]+/u).filter((part) => part !== "");
}
