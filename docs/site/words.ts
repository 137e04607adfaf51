/** Words of a text, as the search compares them. The page in the browser imports this, too. */

const STOP = new Set(
  (
    'a an and are as at be by can do does for from has have how i if in is it its more my not of on one or that the ' +
    'their them then there they this to was what when where which who why will with you your'
  ).split(' '),
);

/** An identifier counts whole and by its parts: `show_frames`, `show`, `frames`. */
export function wordsOf(text: string): string[] {
  return [...text.toLowerCase().matchAll(/[a-z0-9]+(?:_[a-z0-9]+)*/g)]
    .flatMap(([word]) => (word.includes('_') ? [word, ...word.split('_')] : [word]))
    .filter((word) => word.length > 1 && word.length <= 40 && !STOP.has(word));
}
