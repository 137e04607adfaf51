/** How much slower this machine is than those that deadlines are written for, as an emulated one is. */
export const SLOWNESS = Math.max(1, Number(process.env['PROBEYARD_SLOWNESS'] ?? 1));

/**
 * Deadlines in tests are written for a machine at rest. On a busy or slow one, each wait and each test gets this many
 * times as long before it fails. Nothing waits longer than its condition.
 */
export const PATIENCE = 3 * SLOWNESS;
