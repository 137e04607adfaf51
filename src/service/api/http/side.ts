/** The two kinds of endpoints, and what each accepts. Their error bodies are in error_body.ts. */

/** Path prefix of the management endpoints; everything else belongs to the probe endpoints. */
export const BASE = '/frontend/api/v1';
export const isManagement = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`);

export type CredentialKind = 'token' | 'jwt';

export interface Side {
  security: 'gateway' | 'management';
  credentials: readonly CredentialKind[];
  /** Whether a POST or PUT without a body counts as one without fields. */
  emptyBody: boolean;
}

const GATEWAY: Side = { security: 'gateway', credentials: ['token'], emptyBody: false };
const MANAGEMENT: Side = { security: 'management', credentials: ['token', 'jwt'], emptyBody: true };

export const sideOf = (path: string): Side => (isManagement(path) ? MANAGEMENT : GATEWAY);
