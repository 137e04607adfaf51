/** What breaks and what keeps the rules of src/media/hls/rules/renditions.ts. */
import { aMain, aVariant } from './playlists.ts';
import type { Examples } from './index.ts';

const audio = (name: string, more = ''): string =>
  `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="${name}",LANGUAGE="${name}",AUTOSELECT=YES,` +
  `CHANNELS="2",URI="${name}.m3u8"${more}`;
const subtitles = (more = '', language = 'en'): string =>
  `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="${language}",LANGUAGE="${language}"${more}`;
const captions = (more = ',INSTREAM-ID="CC1"'): string =>
  `#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="en",LANGUAGE="en"${more}`;
const WITH_AUDIO = aVariant({ AUDIO: '"a"' });
const WITH_SUBTITLES = aVariant({ SUBTITLES: '"s"' });
const WITH_CAPTIONS = aVariant({ 'CLOSED-CAPTIONS': '"c"' });
const EN = audio('en', ',DEFAULT=YES');
const FR = audio('fr');

export const RENDITION_EXAMPLES: Examples = {
  'media-uri-captions': [
    aMain(captions(',INSTREAM-ID="CC1",URI="c.m3u8"'), WITH_CAPTIONS),
    aMain(captions(), WITH_CAPTIONS),
  ],
  'media-uri-subtitles': [aMain(subtitles(), WITH_SUBTITLES), aMain(subtitles(',URI="s.m3u8"'), WITH_SUBTITLES)],
  'media-instream-missing': [aMain(captions(''), WITH_CAPTIONS), aMain(captions(), WITH_CAPTIONS)],
  'media-instream-other': [aMain(audio('en', ',DEFAULT=YES,INSTREAM-ID="CC1"'), WITH_AUDIO), aMain(EN, WITH_AUDIO)],
  'media-instream-value': [
    aMain(captions(',INSTREAM-ID="CC5"'), WITH_CAPTIONS),
    aMain(captions(',INSTREAM-ID="SERVICE63"'), WITH_CAPTIONS),
  ],
  'media-default-autoselect': [aMain(EN.replace('AUTOSELECT=YES', 'AUTOSELECT=NO'), WITH_AUDIO), aMain(EN, WITH_AUDIO)],
  'media-forced': [
    aMain(audio('en', ',DEFAULT=YES,FORCED=YES'), WITH_AUDIO),
    aMain(subtitles(',URI="s.m3u8",FORCED=YES'), WITH_SUBTITLES),
  ],
  'media-language': [
    aMain(EN.replace('LANGUAGE="en"', 'LANGUAGE="english language"'), WITH_AUDIO),
    aMain(EN.replace('LANGUAGE="en"', 'LANGUAGE="en-GB"'), WITH_AUDIO),
  ],
  'media-language-missing': [aMain(EN.replace('LANGUAGE="en",', ''), WITH_AUDIO), aMain(EN, WITH_AUDIO)],
  'media-name-repeated': [
    aMain(EN, audio('en').replace('LANGUAGE="en"', 'LANGUAGE="fr"'), WITH_AUDIO),
    aMain(EN, FR, WITH_AUDIO),
  ],
  'media-default-several': [aMain(EN, audio('fr', ',DEFAULT=YES'), WITH_AUDIO), aMain(EN, FR, WITH_AUDIO)],
  'media-autoselect-repeated': [
    aMain(EN, audio('en').replace('NAME="en"', 'NAME="English 2"'), WITH_AUDIO),
    aMain(
      EN,
      audio('en', ',CHARACTERISTICS="public.accessibility.describes-video"').replace('NAME="en"', 'NAME="English 2"'),
      WITH_AUDIO,
    ),
  ],
  'media-default-none': [aMain(audio('en'), FR, WITH_AUDIO), aMain(EN, FR, WITH_AUDIO)],
  'media-channels': [aMain(EN.replace('CHANNELS="2",', ''), WITH_AUDIO), aMain(EN, WITH_AUDIO)],
  'media-channels-form': [
    aMain(EN.replace('CHANNELS="2"', 'CHANNELS="stereo"'), WITH_AUDIO),
    aMain(EN.replace('CHANNELS="2"', 'CHANNELS="16/JOC"'), WITH_AUDIO),
  ],
  'media-samples': [
    aMain(audio('en', ',DEFAULT=YES,SAMPLE-RATE=0'), WITH_AUDIO),
    aMain(audio('en', ',DEFAULT=YES,SAMPLE-RATE=48000'), WITH_AUDIO),
  ],
  'group-undefined': [aMain(WITH_AUDIO), aMain(EN, WITH_AUDIO)],
  'group-unused': [aMain(EN), aMain(EN, WITH_AUDIO)],
  'group-unequal': [
    aMain(EN, FR, EN.replace('GROUP-ID="a"', 'GROUP-ID="b"'), WITH_AUDIO, aVariant({ AUDIO: '"b"' }, 'b.m3u8')),
    aMain(
      EN,
      FR,
      EN.replace('GROUP-ID="a"', 'GROUP-ID="b"'),
      FR.replace('GROUP-ID="a"', 'GROUP-ID="b"'),
      WITH_AUDIO,
      aVariant({ AUDIO: '"b"' }, 'b.m3u8'),
    ),
  ],
  'captions-none-some': [
    aMain(captions(), WITH_CAPTIONS, aVariant({}, 'b.m3u8')),
    aMain(aVariant({}, 'a.m3u8'), aVariant({}, 'b.m3u8')),
  ],
  'captions-form': [aMain(captions(), aVariant({ 'CLOSED-CAPTIONS': 'c' })), aMain(captions(), WITH_CAPTIONS)],
  'group-codecs': [aMain(EN, aVariant({ AUDIO: '"a"', CODECS: '"avc1.640028"' })), aMain(EN, WITH_AUDIO)],
};
