/** The mails of accounts: complete with the address of the installation, and without it. */
import assert from 'node:assert/strict';
import { inviteMail, knownMail, resetMail, verifyMail } from '../../src/service/accounts/mail_texts.ts';

const CODE = 'eyCODE.of.aMail';
const MAILS = {
  verify: (url: string) => verifyMail(url, CODE),
  reset: (url: string) => resetMail(url, CODE),
  invite: (url: string) => inviteMail(url, CODE, 'boss@example.org'),
  known: (url: string) => knownMail(url),
};
const PAGES = { verify: 'verify', reset: 'reset', invite: 'reset', known: 'app/sign-in' };

describe('mails', () => {
  for (const [name, page] of Object.entries(PAGES) as [keyof typeof MAILS, string][]) {
    const hasCode = name !== 'known';

    it(`${name}: has its link where the address is known`, () => {
      const { text } = MAILS[name]('https://probe.example.com');
      assert.ok(text.split('\n').includes(`https://probe.example.com/${page}${hasCode ? `#${CODE}` : ''}`), text);
      assert.doesNotMatch(text, /api\.publicUrl/);
    });

    it(`${name}: says which page takes its code, and what the operator sets, where the address is not known`, () => {
      const { text } = MAILS[name]('');
      assert.match(text, new RegExp(`/app/${page.replace('app/', '')} at the address of this Probeyard`));
      if (!hasCode) return;
      assert.ok(text.split('\n').includes(CODE), text);
      assert.match(text, /its operator sets api\.publicUrl\./);
    });

    it(`${name}: no line ends in a colon with nothing behind it`, () => {
      for (const url of ['', 'https://probe.example.com'])
        assert.doesNotMatch(MAILS[name](url).text, /:\n*$|:\n\n(?=[A-Z][a-z]+ it was)/);
    });
  }
});
