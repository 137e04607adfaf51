import assert from 'node:assert/strict';
import { escapeXml, textIn, unescapeXml } from '../src/base/xml.ts';

describe('XML', () => {
  for (const [name, xml, text] of [
    ['an element', '<Error><Code>NoSuchKey</Code></Error>', 'NoSuchKey'],
    ['the first of two', '<Code>a</Code><Code>b</Code>', 'a'],
    ['an empty one', '<Code></Code>', ''],
    ['entities', '<Code>a&amp;b&lt;&#62;&#x22;</Code>', 'a&b<>"'],
    ['a CDATA section', '<Code><![CDATA[a&b]]></Code>', 'a&b'],
    ['attributes', '<Code xmlns="a>b">a</Code>', 'a'],
    ['one that has elements, then one that has text', '<Code><b>a</b></Code><Code>c</Code>', 'c'],
    ['one in a comment', '<!-- <Code>a</Code> -->', undefined],
    ['another name', '<Codes>a</Codes>', undefined],
    ['one without an end', '<Code>a', undefined],
    ['no XML', 'Code', undefined],
  ] as const)
    it(`text of an element: ${name}`, () => assert.equal(textIn(xml, 'Code'), text));

  it('what is escaped is read as it was', () => {
    const text = `<a b='c' d="e">&amp;</a>`;
    assert.equal(unescapeXml(escapeXml(text)), text);
    assert.doesNotMatch(escapeXml(text), /[<>"']|&(?!\w+;)/);
  });

  it('a character that does not exist is left out', () => assert.equal(unescapeXml('a&#x110000;b'), 'ab'));
});
