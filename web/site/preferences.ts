/** What a reader chose once is kept, where the browser allows it: a sandboxed frame has no storage. */

export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(`multihead-${name}`);
  } catch {
    return null;
  }
}

export function keepPreference(name: string, value: string): void {
  try {
    localStorage.setItem(`multihead-${name}`, value);
  } catch {
    // It holds for this visit.
  }
}
