/** The elements of a MediaConch policy: no DTD, no entities but XML's own, bounded in depth and number. */
import { SaxesParser } from 'saxes';
import { oneLine, PolicyError } from '../error.ts';

export interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: Element[];
  text: string;
}

const MOST_ELEMENTS = 10_000;
const DEEPEST = 32;
const LONGEST_TEXT = 10_000;

export function elementsIn(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  let count = 0;
  const parser = new SaxesParser({ xmlns: false });
  parser.on('doctype', () => {
    throw new PolicyError('', 'must not have a DOCTYPE');
  });
  parser.on('error', (error) => {
    throw new PolicyError('', `is not valid XML: ${oneLine(error.message, 100)}`);
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (++count > MOST_ELEMENTS) throw new PolicyError('', `has more than ${MOST_ELEMENTS} elements`);
    if (open.length > DEEPEST) throw new PolicyError('', `has elements deeper than ${DEEPEST}`);
    const element: Element = { name, attributes: attributes as Record<string, string>, children: [], text: '' };
    open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  const add = (more: string) => {
    const element = open.at(-1)!;
    if (element.text.length < LONGEST_TEXT) element.text += more.slice(0, LONGEST_TEXT);
  };
  parser.on('text', add);
  parser.on('cdata', add);
  parser.write(text).close();
  return root.children[0]!;
}
