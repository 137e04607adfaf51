/** Reads XML strictly: what is not well-formed is an error. */
import { SaxesParser } from 'saxes';

export interface Read {
  elements: { name: string; attributes: Record<string, string> }[];
  texts: string[];
}

export function readXml(text: string): Read {
  const read: Read = { elements: [], texts: [] };
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => read.elements.push({ name, attributes }));
  parser.on('text', (part) => read.texts.push(part));
  parser.write(text).close();
  return read;
}
