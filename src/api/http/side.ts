/** The two sides of the interface: what each accepts. Their error bodies: error_body.ts. */

/** Of the management side; everything else belongs to the gateway. */
export const BASE = '/frontend/api/v1';
export const isManagement = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`);

export type CredentialKind = 'token' | 'jwt';

export interface Side {
  security: 'gateway' | 'management';
  credentials: readonly CredentialKind[];
  /** Whether a POST or PUT without a body is one with no fields. */
  emptyBody: boolean;
}

const GATEWAY: Side = { security: 'gateway', credentials: ['token'], emptyBody: false };
const MANAGEMENT: Side = { security: 'management', credentials: ['token', 'jwt'], emptyBody: true };

export const sideOf = (path: string): Side => (isManagement(path) ? MANAGEMENT : GATEWAY);
