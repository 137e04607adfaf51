/** Fields of several endpoints. */
import Type from 'typebox';
import { PERMISSIONS } from '../../../platform/store/permissions.ts';
import { PLAIN } from '../http/fields.ts';

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
export const Email = Type.String({
  maxLength: 254,
  pattern: `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})+$`,
  description: 'An e-mail address.',
});
export const Password = Type.String({ minLength: 6, maxLength: 72, description: '6 to 72 characters.' });
/** A password to be checked, not set: any text. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 1024, description: 'The password.' });
export const PersonName = Type.String({ maxLength: 100, pattern: PLAIN, description: 'A name.' });
export const Jwt = Type.String({ minLength: 1, maxLength: 4096, description: 'The code from the mail.' });
export const RetUrl = Type.Optional(
  Type.String({
    maxLength: 2048,
    pattern: PLAIN,
    description: 'Where to redirect afterwards: echoed if it is a path of this site, else null.',
  }),
);
export const Permissions = Type.Array(
  Type.Unsafe<string>({ title: 'Permission', type: 'string', enum: [...PERMISSIONS] }),
  {
    maxItems: PERMISSIONS.length,
    uniqueItems: true,
    description: 'Names of permissions.',
  },
);
export const Id = Type.String({ description: 'An id.', pattern: '^[0-9]{1,16}$' });
export const Uuid = Type.String({ description: 'An id.', format: 'uuid' });

/** Only accepts a path of this site, never one that a browser resolves to another site. */
export const safeRetUrl = (url: string | undefined): string | null =>
  url !== undefined && /^\/(?![/\\])[^\\]*$/.test(url) ? url : null;
