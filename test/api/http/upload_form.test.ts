import assert from 'node:assert/strict';
import { parseForm } from '../../../src/service/api/http/upload_form.ts';

describe('multipart forms', () => {
  for (const [what, more] of [
    ['field', ''],
    ['file', '; filename="a.mp4"'],
  ] as const)
    it(`a ${what} without a name is refused`, async () => {
      const form = Buffer.from(`--b\r\nContent-Disposition: form-data${more}\r\n\r\nx\r\n--b--\r\n`);
      const parsing = { receive: () => assert.fail('the file was received') };
      for (const options of [{}, parsing])
        await assert.rejects(parseForm([form], 'multipart/form-data; boundary=b', options), {
          message: 'a part has no name',
        });
    });

  it('a text may have the character that stands for what is not valid', async () => {
    const form = Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\u00e4\ufffd\r\n--b--\r\n');
    const { pairs } = await parseForm([form], 'multipart/form-data; boundary=b');
    assert.deepEqual(pairs, [['a', '\u00e4\ufffd']]);
  });
});
