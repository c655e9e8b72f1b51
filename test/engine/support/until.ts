/** Wait until the condition holds. @throws when it does not within five seconds */
export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`still not so after five seconds: ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
