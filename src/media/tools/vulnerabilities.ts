/** Known vulnerabilities of each tool version. Made from images/vex by `make generate`: change them there. */
export const READ = '2026-11-23';
export interface Known {
  affected: readonly string[];
  /** Number of those of which it is not known whether the version is affected. */
  unclear: number;
}
export const VULNERABILITIES: Readonly<Record<string, Known>> = {
  'ffprobe 9.0': {
    affected: [],
    unclear: 65,
  },
  'ffprobe 7.1': {
    affected: [],
    unclear: 65,
  },
  'ffprobe 7.0': {
    affected: [],
    unclear: 66,
  },
  'ffprobe 6.1': {
    affected: [],
    unclear: 66,
  },
  'ffprobe 6.0': {
    affected: [],
    unclear: 66,
  },
  'ffprobe 5.1': {
    affected: [
      'CVE-2023-49502',
      'CVE-2023-50007',
      'CVE-2023-50008',
      'CVE-2023-6602',
      'CVE-2023-6604',
      'CVE-2023-6605',
      'CVE-2024-31582',
      'CVE-2024-35367',
      'CVE-2024-35368',
      'CVE-2024-7055',
      'CVE-2024-7272',
      'CVE-2025-0518',
      'CVE-2025-22919',
    ],
    unclear: 53,
  },
  'ffprobe 5.0': {
    affected: [],
    unclear: 66,
  },
  'ffprobe 4.4': {
    affected: [],
    unclear: 66,
  },
  'ffprobe 4.3': {
    affected: [
      'CVE-2020-20446',
      'CVE-2020-20450',
      'CVE-2020-20453',
      'CVE-2020-21041',
      'CVE-2020-22015',
      'CVE-2020-22019',
      'CVE-2020-22021',
      'CVE-2020-22033',
      'CVE-2020-22037',
      'CVE-2020-22042',
      'CVE-2021-38114',
      'CVE-2021-38171',
      'CVE-2021-38291',
    ],
    unclear: 51,
  },
  'ffprobe 4.2': {
    affected: [],
    unclear: 64,
  },
  'ffprobe 4.1': {
    affected: ['CVE-2019-12730'],
    unclear: 60,
  },
  'ffprobe 4.0': {
    affected: ['CVE-2018-15822'],
    unclear: 55,
  },
  'ffprobe 3.4': {
    affected: [],
    unclear: 64,
  },
  'ffprobe 3.3': {
    affected: [],
    unclear: 54,
  },
  'mediainfo 26.10': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 24.06': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 23.11': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 22.12': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 21.09': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 20.09': {
    affected: [],
    unclear: 0,
  },
  'mediainfo 19.09': {
    affected: [],
    unclear: 1,
  },
  'mediainfo 18.12': {
    affected: [],
    unclear: 1,
  },
  'qc 7.1': {
    affected: [],
    unclear: 65,
  },
};
