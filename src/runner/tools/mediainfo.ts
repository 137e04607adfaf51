import { MEDIAINFO_OPTIONS } from '../../tools/mediainfo.ts';
import { readOptions } from '../../tools/option.ts';
import type { Tool } from '../../tools/tool.ts';

export const mediainfo: Tool = {
  args(options, address) {
    const values = new Map([...readOptions(MEDIAINFO_OPTIONS, options)].map(([spec, value]) => [spec.name, value]));
    return [
      `--Output=${values.get('output')}`,
      ...(values.get('full') === true ? ['--Full'] : []),
      `--Language=${values.get('language')}`,
      `--ParseSpeed=${values.get('parse_speed')}`,
      `--ReadByHuman=${values.get('read_by_human') === true ? 1 : 0}`,
      address,
    ];
  },
  format: (options) => ((options['output'] ?? 'JSON').endsWith('JSON') ? 'json' : 'text'),
  verifiesTls: (options) => options['ssl_ignore_security'] !== 'true',
  /** It exits with 0 whatever happens: what it did not print is the failure. */
  failure({ code, stdout, stderr }) {
    if (code === 0 && !isEmpty(stdout)) return undefined;
    return message(stderr) ?? 'mediainfo found nothing in the source';
  },
};

/**
 * Every format has its own way to say nothing; where one prints a frame with nothing known in it, stderr and the source
 * proxy tell.
 */
const NOTHING =
  /^(?:\s*|\s*\{\s*(?:"creatingLibrary"[^{}]*\{[^{}]*\},\s*)?"media": ?null\s*\}\s*|[\s\S]{0,600}<media\s*\/>\s*<\/MediaInfo>\s*|\s*<html>[\s\S]{0,400}<body>\s*<\/body>\s*<\/html>\s*)$/;

const isEmpty = (stdout: string): boolean => stdout.length < 4096 && NOTHING.test(stdout);

/** `E: <address>, <what the transport said>`; what an origin sent as a page is not passed on. */
function message(stderr: string): string | undefined {
  const line = /^E: (.+)$/m.exec(stderr)?.[1] ?? stderr.split('\n').find((text) => text.trim() !== '');
  const said = line?.replace(/^[a-z0-9+.-]+:\/\/\S+, /i, '').trim();
  return said === undefined || said === '' || said.startsWith('<') ? undefined : said.slice(0, 300);
}
