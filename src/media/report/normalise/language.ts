/** Languages in BCP 47, from any notation of a container (fre, fra, fr). */
const known = new Map<string, string | undefined>();
const NONE = new Set(['und', 'unk', 'mis', 'zxx', '```', 'qaa']);
const MOST = 5000;

export function languageOf(text: string | undefined): string | undefined {
  if (text === undefined || NONE.has(text.toLowerCase()) || !/^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,4}$/.test(text))
    return undefined;
  if (!known.has(text)) {
    if (known.size > MOST) known.clear();
    known.set(text, canonical(text.replaceAll('_', '-')));
  }
  return known.get(text);
}

function canonical(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}
