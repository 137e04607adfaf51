/** A password that is chosen: its bounds are those of the API. */
import { Field } from './form.tsx';

const BOUNDS = '6 to 72 characters';

interface NewPasswordProps {
  name: string;
  label?: string;
  /** Before the bounds: when to choose one. */
  help?: string;
  required?: boolean;
}

export const NewPassword = ({ name, label = 'New password', help, required = true }: NewPasswordProps) => (
  <Field
    name={name}
    label={label}
    type="password"
    autoComplete="new-password"
    help={help === undefined ? `${BOUNDS}.` : `${help}: ${BOUNDS}.`}
    required={required}
    minLength={6}
    maxLength={72}
  />
);
