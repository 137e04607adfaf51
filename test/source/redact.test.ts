import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import { displaySource, redactor, redactUrl } from '../../src/source/address/redact.ts';

const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfi=CYEXAMPLEKEY';

describe('displaySource', () => {
  for (const [text, shown] of [
    ['https://u:p@example.com/a/b/c.mp4?sig=1', 'https://example.com/…/c.mp4'],
    ['https://example.com/c.mp4', 'https://example.com/c.mp4'],
    ['https://example.com/', 'https://example.com'],
    ['https://example.com:8443/a/', 'https://example.com:8443/a'],
    [`s3://AK:${secret}@bucket/a/b.mp4`, 's3://bucket/…/b.mp4'],
    [`https://AK:${secret}@s3.amazonaws.com/bucket/b.mp4`, 'https://s3.amazonaws.com/…/b.mp4'],
    ['rtmp://example.com/app/streamkey', 'rtmp://example.com/app'],
    ['rtmps://u:p@example.com:443/app/a/streamkey?x=1', 'rtmps://example.com:443/app'],
    ['srt://example.com:9000?streamid=x&passphrase=y', 'srt://example.com:9000'],
    ['rtsp://u:p@example.com/cam/1', 'rtsp://example.com/…/1'],
  ] as const) {
    it(`shows ${text.slice(0, 60)} as ${shown}`, () => assert.equal(displaySource(parseSource(text)), shown));
  }
});

describe('redactUrl', () => {
  for (const [text, shown] of [
    ['https://u:p@example.com/a/b.mp4?sig=abc&x=&y', 'https://example.com/a/b.mp4?sig=REDACTED&x=REDACTED&REDACTED'],
    ['https://example.com/a', 'https://example.com/a'],
    ['https://example.com/a?', 'https://example.com/a?'],
    ['https://example.com/a?b=c=d', 'https://example.com/a?b=REDACTED'],
    [`s3://AK:${secret}@bucket/k.mp4`, 's3://bucket/k.mp4'],
    [`https://AK:${secret}@s3.amazonaws.com/bucket/k.mp4`, 'https://s3.amazonaws.com/bucket/k.mp4'],
    ['srt://example.com:9000?streamid=x&passphrase=y', 'srt://example.com:9000?streamid=REDACTED&passphrase=REDACTED'],
    ['https://user:pa/ss@example.com/a', 'https://REDACTED'],
    ['not an address with pass', 'REDACTED'],
    ['http://a/\nb', 'http://REDACTED'],
  ] as const) {
    it(`shows ${JSON.stringify(text.slice(0, 60))} as ${shown}`, () => assert.equal(redactUrl(text), shown));
  }
});

describe('redactor', () => {
  const redact = redactor(parseSource(`s3://AKIAIOSFODNN7EXAMPLE:${secret}@bucket/k.mp4`));
  for (const form of [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace(/%../g, (c) => c.toLowerCase()),
    secret.replaceAll('/', '\\/'),
    'AKIAIOSFODNN7EXAMPLE',
  ]) {
    it(`redacts ${form.slice(0, 30)}…`, () => assert.equal(redact(`before ${form} after`), 'before REDACTED after'));
  }
  it('redacts a basic credential in all of its forms', () => {
    const basic = redactor(parseSource('https://someone:p%22ss%26w%2Frd@example.com/a?token=0123456789abcdef'));
    const text = [
      'p"ss&w/rd',
      'p%22ss%26w%2Frd',
      JSON.stringify('p"ss&w/rd'),
      'p&quot;ss&amp;w/rd',
      Buffer.from('someone:p"ss&w/rd').toString('base64'),
      '0123456789abcdef',
    ].join(' ');
    assert.equal(basic(text), 'REDACTED REDACTED "REDACTED" REDACTED REDACTED REDACTED');
  });
  it('redacts what stands behind a second question mark', () => {
    const signed = redactor(parseSource('https://example.com/a?id=1?token=0123456789abcdef&sig=fedcba9876543210'));
    for (const text of ['id=1?token=0123456789abcdef', 'token=0123456789abcdef', 'sig=fedcba9876543210'])
      assert.equal(signed(text), text.replace(/=.*/, '=REDACTED'));
  });
  it('removes credentials from any address', () => {
    assert.equal(
      redact('{"u":"https://a:b@h/x","v":"https:\\/\\/a:b@h\\/x"}'),
      '{"u":"https://h/x","v":"https:\\/\\/h\\/x"}',
    );
  });
  it('changes nothing else, and does not redact a short password', () => {
    const text = '{"format":{"format_name":"mov"},"a":"x@y"}';
    assert.equal(redactor(parseSource('https://u:mov@example.com/a'))(text), text);
    assert.equal(redact(text), text);
  });
});
