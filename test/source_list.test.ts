/** Lists of sources: their forms, and what is wrong with a line. */
import assert from 'node:assert/strict';
import { itemsIn, ListError } from '../src/base/source_list.ts';

const A = 'https://media.example.com/a.mp4';
const B = 's3://KEY:SEC/RET@bucket/b,c;d.mp4';

describe('lists of a batch', () => {
  const LISTS: [form: string, text: string, items: [line: number, item: unknown][]][] = [
    [
      'addresses',
      `${A}\n${B}\n`,
      [
        [1, A],
        [2, B],
      ],
    ],
    [
      'addresses with line ends of Windows and no last one',
      `${A}\r\n${B}`,
      [
        [1, A],
        [2, B],
      ],
    ],
    ['addresses with blank lines, spaces and remarks', `\ufeff# all\n\n  ${A} \n`, [[3, A]]],
    ['an address that ends like a name of CSV', `${A},url\n`, [[1, `${A},url`]]],
    [
      'JSON lines',
      `{"url":"${A}","ref":"x"}\n"${B}"\n`,
      [
        [1, { url: A, ref: 'x' }],
        [2, B],
      ],
    ],
    ['JSON lines with members that the service refuses', `{"url":1,"more":2}`, [[1, { url: 1, more: 2 }]]],
    [
      'CSV',
      `id,url,ref\n1,${A},x\n2,"${B}",\n`,
      [
        [2, { url: A, ref: 'x' }],
        [3, B],
      ],
    ],
    ['CSV with semicolons and quotes', `URL;Ref\r\n${A};"a ""b""; c"\r\n`, [[2, { url: A, ref: 'a "b"; c' }]]],
    ['CSV with tabs', `ref\turl\nx\t${A}\n`, [[2, { url: A, ref: 'x' }]]],
    [
      'CSV with a line break in a value',
      `url,note\n${A},"one\ntwo"\n${A},\n`,
      [
        [2, A],
        [4, A],
      ],
    ],
    ['CSV with blank rows and the column alone', `url\n\n${A}\n`, [[3, A]]],
    ['CSV below a remark', `# export\n\nurl\n${A}\n`, [[4, A]]],
    ['CSV with short rows', `url,ref\n${A}\n`, [[2, A]]],
  ];
  for (const [form, text, items] of LISTS)
    it(form, () =>
      assert.deepEqual(
        itemsIn(text).map(({ line, item }) => [line, item]),
        items,
      ),
    );

  const WRONG: [text: string, message: string][] = [
    ['', 'the list has no sources'],
    ['# nothing\n\n', 'the list has no sources'],
    ['url,ref\n', 'the list has no sources'],
    [`${A}\nsecret:pass@host/b.mp4\n`, 'line 2: is not an address'],
    [`"${A}"\n{"url":\n`, 'line 2: is not valid JSON'],
    [`"${A}"\n7\n`, 'line 2: must be an address or {"url": …}'],
    [`"${A}"\n{"url":[]}\n`, 'line 2: must be an address or {"url": …}'],
    [`{"url":${'['.repeat(4_000)}${']'.repeat(4_000)}}\n`, 'line 1: must be an address or {"url": …}'],
    [`{"url":"${'a'.repeat(9_216)}"}\n`, 'line 1: must have at most 9216 characters'],
    [`url,ref\n${A},x\n,y\n`, 'line 3: is not an address'],
    [`url,ref\n${A},"x\n`, 'line 2: a quote is not closed within 9216 characters, or something follows it'],
    [`url,ref\n${A},"x"y\n`, 'line 2: a quote is not closed within 9216 characters, or something follows it'],
  ];
  for (const [text, message] of WRONG)
    it(`refused: ${JSON.stringify(text.slice(0, 60))}`, () =>
      assert.throws(
        () => itemsIn(text),
        (error) => {
          assert.ok(error instanceof ListError);
          assert.equal(error.message, message);
          assert.doesNotMatch(`${error.message} ${error.hint}`, /secret/);
          return true;
        },
      ));

  it('a long list is read in time that grows with it alone', () => {
    const rows = Array.from({ length: 100_000 }, (_, at) => `${A}?${at},"r ${at}"\n`);
    assert.equal(itemsIn(`url,ref\n${rows.join('')}`).length, 100_000);
    assert.throws(() => itemsIn(`url,ref\n"${'""'.repeat(500_000)}x`), /line 2: a quote/);
  });
});
