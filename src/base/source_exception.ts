/**
 * An exception to the rule that only public addresses are connected to, for the installation or for a token. If both a
 * host and a CIDR are given, both must match.
 */
export interface SourceException {
  cidr?: string;
  host?: string;
  port?: number;
}
