/** What can be set of a token: in the dialog that makes one, and on its page. */
import type { Calls, Limits, LimitsInForce, ListedApiToken, Permission } from '../../api_types.ts';
import { Field, numberIn, textIn } from '../parts/form.tsx';
import { may, useUser } from '../session.ts';

const DAY_MS = 86_400_000;

type Body = Calls['POST auth/api-token']['body'];

interface LimitField<Name> {
  name: Name;
  label: string;
  unit?: string;
  min?: number;
}
const LIMITS: readonly LimitField<keyof Omit<Limits, 'monthly-quota'>>[] = [
  { name: 'requests-per-minute', label: 'Requests a minute' },
  { name: 'concurrency', label: 'Requests at once' },
  { name: 'queue-timeout', label: 'Time in the queue', unit: 'ms' },
  { name: 'file-size', label: 'Size of a file', unit: 'bytes' },
  { name: 'cache-max-age', label: 'Age of cached results', unit: 's', min: 0 },
];
const QUOTAS: readonly LimitField<keyof NonNullable<Limits['monthly-quota']>>[] = [
  { name: 'request-count', label: 'Requests a month' },
  { name: 'processing-time', label: 'Processing time a month', unit: 'ms' },
  { name: 'data-processed', label: 'Data a month', unit: 'bytes' },
  { name: 'decoded-seconds', label: 'Content checks a month', unit: 's of media' },
];

interface LimitFieldsProps {
  /** Before the names of the fields, as the API names them: `limits.`. */
  prefix?: string;
  given: Limits | undefined;
  /** Shown where a field is empty. */
  inForce: LimitsInForce | undefined;
  help: string;
}

export function LimitFields({ prefix = '', given, inForce, help }: LimitFieldsProps) {
  const limits = LIMITS.map((limit) => {
    const present = inForce?.[limit.name];
    const placeholder = present === undefined ? 'limit of the account' : String(present);
    return { ...limit, value: given?.[limit.name], placeholder };
  });
  const quotas = QUOTAS.map((quota) => {
    const value = given?.['monthly-quota']?.[quota.name];
    return { ...quota, name: `monthly-quota.${quota.name}`, value, placeholder: 'no quota' };
  });
  return (
    <fieldset>
      <legend>Limits</legend>
      <p class="help">{help}</p>
      {[...limits, ...quotas].map(({ name, ...field }) => (
        <Field key={name} name={`${prefix}${name}`} type="number" min={1} {...field} />
      ))}
    </fieldset>
  );
}

/** An empty field is null: the limit is taken away. */
export function limitsIn(values: FormData, prefix = '') {
  const limits = Object.fromEntries(LIMITS.map(({ name }) => [name, numberIn(values, `${prefix}${name}`)]));
  const quota = Object.fromEntries(
    QUOTAS.map(({ name }) => [name, numberIn(values, `${prefix}monthly-quota.${name}`)]),
  );
  return { ...limits, 'monthly-quota': quota };
}

interface TokenFieldsProps {
  /** None: a new one. */
  token?: Pick<ListedApiToken, 'name' | 'permissions' | 'limits' | 'limits-in-force'>;
}

const PERMISSIONS = 'permissions';

/** A narrow token does what its program needs, and nothing else. */
function PermissionFields({ given = [] }: { given: readonly string[] | undefined }) {
  const user = useUser();
  return (
    <fieldset>
      <legend>Permissions</legend>
      <p class="help">None chosen: all that you have.</p>
      <div class="checks">
        {Object.keys(user.permissions)
          .filter((name) => may(user, name))
          .toSorted()
          .map((name) => (
            <label key={name} class="check">
              <input type="checkbox" name={PERMISSIONS} value={name} defaultChecked={given.includes(name)} /> {name}
            </label>
          ))}
      </div>
    </fieldset>
  );
}

export function TokenFields({ token }: TokenFieldsProps) {
  return (
    <>
      <Field name="name" label="Name" value={token?.name} maxLength={100} />
      {!token && <Field name="days" label="Days until it ends" type="number" min={1} placeholder="never ends" />}
      <PermissionFields given={token?.permissions} />
      <LimitFields
        prefix="limits."
        given={token?.limits}
        inForce={token?.['limits-in-force']}
        help="Below those of your account. Empty: the account's own."
      />
    </>
  );
}

export function settingsIn(values: FormData): Body {
  const days = numberIn(values, 'days');
  const permissions = values.getAll(PERMISSIONS) as Permission[];
  return {
    name: textIn(values, 'name'),
    permissions: permissions.length === 0 ? null : permissions,
    ...(days === null ? {} : { ttl: days * DAY_MS }),
    limits: limitsIn(values, 'limits.'),
  };
}
