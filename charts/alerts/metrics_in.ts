/** The metrics in an expression, histograms by the name of their registration. */
const NAME = /\b(?:probeyard|process|nodejs|kubelet)_\w+\b|\b(?:up|ALERTS)(?=\{)/g;
const PARTS = /_(?:bucket|sum|count)$/;

export const metricsIn = (expr: string): string[] => [
  ...new Set([...expr.matchAll(NAME)].map(([name]) => name.replace(PARTS, ''))),
];
