/** Runs a role until it ends. One that cannot go on says why in the form of a log line, as it may have no log yet. */
export async function startRole(role: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const { code, name, message, stack } = error as Error & { code?: string };
    console.error(
      JSON.stringify({
        level: 60,
        time: Date.now(),
        role,
        msg: 'this role cannot go on',
        err: { name, code, message, stack },
      }),
    );
    process.exit(1);
  }
}
