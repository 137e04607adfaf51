/** Issuers of single sign-on, as the operator sets them. */
import { isObject } from './is_object.ts';

export interface IssuerSettings {
  /** In the addresses of its endpoints, and on the button that people press. */
  name: string;
  /** As it stands in its tokens: https://id.example.com/realms/main */
  issuer: string;
  clientId: string;
  /** Whether it has a secret, which is the file of its name. */
  hasSecret: boolean;
  scopes: string[];
  /** The names of these claims, or paths to them: `realm_access.roles`. */
  claims: { email: string; groups: string };
  /** What a group gives: a role, or a place below the user with this id. */
  groups: Record<string, 'admin' | 'user' | number>;
  /** Domains of addresses that are let in. Empty: all. */
  allowedDomains: string[];
  /** Whether an existing account with the same confirmed address is taken over at the first sign-in. */
  linkByEmail: boolean;
  /** Of access tokens that clients of MCP send. Empty: none are accepted. */
  audience: string;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,31}$/;

const isText = (value: unknown): value is string => typeof value === 'string';
const areTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isGift = (value: unknown): boolean =>
  value === 'admin' || value === 'user' || (Number.isSafeInteger(value) && (value as number) > 0);

function isIssuer(value: unknown): value is IssuerSettings {
  if (!isObject(value)) return false;
  const { name, issuer, clientId, hasSecret, scopes, claims, groups, allowedDomains, linkByEmail, audience } = value;
  return (
    isText(name) &&
    NAME.test(name) &&
    isText(issuer) &&
    /^https:\/\/[^\s?#@]+$/.test(issuer) &&
    URL.canParse(issuer) &&
    isText(clientId) &&
    clientId !== '' &&
    typeof hasSecret === 'boolean' &&
    areTexts(scopes) &&
    isObject(claims) &&
    isText(claims['email']) &&
    isText(claims['groups']) &&
    isObject(groups) &&
    Object.values(groups).every(isGift) &&
    areTexts(allowedDomains) &&
    typeof linkByEmail === 'boolean' &&
    isText(audience) &&
    // ID tokens have the client for an audience, and prove nothing to others.
    audience !== clientId
  );
}

/** Each name and each issuer once. */
export const areIssuers = (value: unknown): value is IssuerSettings[] =>
  Array.isArray(value) &&
  value.every(isIssuer) &&
  (['name', 'issuer'] as const).every((key) => new Set(value.map((one) => one[key])).size === value.length);
