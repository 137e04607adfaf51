/**
 * One exception from the rule that only public addresses are connected to: of the installation, or of a token. A host
 * and a CIDR in one must both fit.
 */
export interface SourceException {
  cidr?: string;
  host?: string;
  port?: number;
}
