/** One message for the person at the terminal; standard output is for what a verb answers. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
