/** A text field for policies: names of fields are completed, and what the API refuses is shown at its place. */
import type { TargetedKeyboardEvent } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { POLICY_FIELDS } from '../../api_types.ts';
import type { Failure } from '../api/failure.ts';
import { completionAt, placeOf, type Completion } from './text.ts';

interface EditorProps {
  text: string;
  change: (text: string) => void;
  readOnly: boolean;
  failure: Failure | null;
}

/** Names for the word at the caret, the keys that choose one of them, and what writes it into the text. */
function useCompletion({ text, change }: Pick<EditorProps, 'text' | 'change'>) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [completion, setCompletion] = useState<Completion | null>(null);
  const [at, setAt] = useState(0);
  /** Where the caret goes once the text is drawn. */
  const caret = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caret.current === null) return;
    area.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [text]);

  const close = (): void => setCompletion(null);
  const complete = (name: string): void => {
    const { from, to } = completion!;
    caret.current = from + name.length;
    close();
    change(`${text.slice(0, from)}${name}${text.slice(to)}`);
    area.current?.focus();
  };
  const press = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (!completion) return;
    const last = completion.names.length - 1;
    const keys: Record<string, () => void> = {
      ArrowDown: () => setAt(at === last ? 0 : at + 1),
      ArrowUp: () => setAt(at === 0 ? last : at - 1),
      Enter: () => complete(completion.names[at]!),
      Escape: close,
    };
    const work = keys[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  };
  const type = ({ value, selectionStart }: HTMLTextAreaElement): void => {
    change(value);
    setCompletion(completionAt(value, selectionStart, POLICY_FIELDS));
    setAt(0);
  };
  return { area, names: completion?.names ?? null, at, complete, press, type, close };
}

export function Editor({ text, change, readOnly, failure }: EditorProps) {
  const id = useId();
  const { area, names, at, complete, press, type, close } = useCompletion({ text, change });
  const place = failure?.field ? placeOf(text, failure.field) : null;
  useEffect(() => {
    if (!place || !area.current) return;
    area.current.focus();
    area.current.setSelectionRange(place.from, place.to);
  }, [failure]);
  return (
    <div class="field editor">
      <label for={id}>The policy as YAML or JSON</label>
      <textarea
        id={id}
        ref={area}
        value={text}
        rows={Math.min(24, Math.max(10, text.split('\n').length + 1))}
        readOnly={readOnly}
        spellcheck={false}
        autoComplete="off"
        aria-invalid={failure !== null}
        aria-describedby={failure ? `${id}-wrong` : `${id}-help`}
        aria-autocomplete="list"
        aria-controls={names ? `${id}-names` : undefined}
        aria-activedescendant={names ? `${id}-${at}` : undefined}
        onInput={(event) => type(event.currentTarget)}
        onKeyDown={press}
        onBlur={close}
      />
      {names && (
        <ul id={`${id}-names`} role="listbox" aria-label="Fields" class="names">
          {names.map((name, index) => (
            <li
              key={name}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              // The text keeps the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                complete(name);
              }}
            >
              {name}
            </li>
          ))}
        </ul>
      )}
      {failure && (
        <p class="wrong" role="alert" id={`${id}-wrong`}>
          {place && `Line ${place.line}: `}
          {failure.text}
        </p>
      )}
      <p class="help" id={`${id}-help`}>
        After <code>field:</code> names are completed: arrows choose, Enter takes one, Escape closes the list.
      </p>
    </div>
  );
}
