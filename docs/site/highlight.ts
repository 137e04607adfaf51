/** Colours of code, as classes: the site's policy allows no style attribute. */
import { createRequire } from 'node:module';

/** Its own types bring those of a browser into every file of the repository. */
interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  highlight(code: string, options: { language: string }): { value: string };
}

const require = createRequire(import.meta.url);
const hljs = require('highlight.js/lib/core') as Highlighter;

/** By the name after the fence. `text` is not coloured. */
const LANGUAGES: Readonly<Record<string, unknown>> = {
  sh: require('highlight.js/lib/languages/bash'),
  go: require('highlight.js/lib/languages/go'),
  groovy: require('highlight.js/lib/languages/groovy'),
  json: require('highlight.js/lib/languages/json'),
  php: require('highlight.js/lib/languages/php'),
  python: require('highlight.js/lib/languages/python'),
  typescript: require('highlight.js/lib/languages/typescript'),
  yaml: require('highlight.js/lib/languages/yaml'),
  text: null,
};

for (const [name, language] of Object.entries(LANGUAGES)) if (language !== null) hljs.registerLanguage(name, language);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (one) => ENTITIES[one]!);

/** Code without a language is shown as it is. */
export function highlighted(code: string, language: string): string {
  if (language === '') return escaped(code);
  const known = LANGUAGES[language];
  if (known === undefined)
    throw new Error(`code in ${language}: the site colours ${Object.keys(LANGUAGES).join(', ')}`);
  return known === null ? escaped(code) : hljs.highlight(code, { language }).value;
}
