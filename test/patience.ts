/**
 * Deadlines in tests are written for a machine at rest. On a busy or slow one, each wait and each test gets this many
 * times as long before it fails. Nothing waits longer than its condition.
 */
export const PATIENCE = 3;
