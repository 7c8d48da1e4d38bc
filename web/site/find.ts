/** The element of the page that `selector` names. Throws if it is not there, or is another kind. */
export function find<T extends Element>(selector: string, kind: abstract new () => T): T {
  const element = document.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`the page has no ${selector}`);
  return element;
}
