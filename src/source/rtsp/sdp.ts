/** The part of a session description that says what is in a stream. */

export type SdpMedia = { kind: string; payload: number; codec: string; clock: number; channels: number; parameters: ReadonlyMap<string, string>; control: string };

/** Payload types that have their meaning by number. */
const fixed: Readonly<Record<number, [codec: string, clock: number, channels: number]>> = {
  0: ['PCMU', 8000, 1], 8: ['PCMA', 8000, 1], 10: ['L16', 44100, 2], 11: ['L16', 44100, 1], 14: ['MPA', 90000, 2], 32: ['MPV', 90000, 1], 33: ['MP2T', 90000, 1],
};
const mostMedia = 16;

export function readSdp(text: string): { control: string | undefined; media: SdpMedia[] } {
  const sections = text.split(/^(?=m=)/m);
  const control = attribute(sections[0] ?? '', 'control');
  const media = sections.slice(text.startsWith('m=') ? 0 : 1, mostMedia + 1).map(readMedia).filter((found) => found !== undefined);
  return { control, media };
}

const attribute = (section: string, name: string): string | undefined => new RegExp(`^a=${name}:(.*?)\\s*$`, 'm').exec(section)?.[1];

function readMedia(section: string): SdpMedia | undefined {
  const match = /^m=(\w+) \d+\S* RTP\/S?AVPF? (\d{1,3})/.exec(section);
  if (match === null) return undefined;
  const payload = Number(match[2]);
  const map = new RegExp(`^a=rtpmap:${payload} ([^/\\s]+)/(\\d{1,9})(?:/(\\d{1,2}))?`, 'm').exec(section);
  const known = fixed[payload];
  if (map === null && known === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const pair of (new RegExp(`^a=fmtp:${payload} (.*?)\\s*$`, 'm').exec(section)?.[1] ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0) parameters.set(pair.slice(0, at).trim().toLowerCase(), pair.slice(at + 1).trim());
  }
  return {
    kind: match[1]!, payload, codec: (map?.[1] ?? known![0]).toUpperCase(), clock: Math.max(1, Number(map?.[2] ?? known![1])), channels: Number(map?.[3] ?? known?.[2] ?? 1),
    parameters, control: attribute(section, 'control') ?? '',
  };
}
