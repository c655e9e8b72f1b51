/** Wait until the condition holds. @throws when it does not within twenty seconds */
export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`still not so after twenty seconds: ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
