/** Saves a file on the reader's machine, under this name. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The download reads the address after this call.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
