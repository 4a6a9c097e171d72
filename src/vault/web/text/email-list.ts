/**
 * Splits the text of a field into email addresses, at commas, semicolons and white space. They are in
 * lower case, as the vault has them.
 */
export function emailList(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,;]+/u)
    .filter((part) => part !== "");
}
