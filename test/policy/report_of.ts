/** Small reports as callers see them, for tables of rules. */
import type { Facts } from '../../src/media/policy/types.ts';

export const video = (more: object = {}): object => ({
  type: 'video',
  codec: { id: 1, name: 'h264', profile: 'high', level: '4.1', four_cc: 'avc1' },
  size: { width: 1920, height: 1080, sample_aspect_ratio: 1, display_aspect_ratio: 1.778 },
  frame_rate: { numerator: 24000, denominator: 1001 },
  scan_type: 'progressive',
  pixel_format: { chroma_subsampling: '4:2:0', bit_depth: 8 },
  color: { matrix: 'smpte170m' },
  duration: 10,
  bitrate: { average: 5_000_000 },
  ...more,
});
export const audio = (more: object = {}): object => ({
  type: 'audio',
  codec: { name: 'pcm_s24le' },
  sample_rate: 48_000,
  channels: 2,
  channel_layout: '5.1',
  bit_depth: 24,
  language: 'en',
  duration: 10.02,
  ...more,
});

export function facts(streams: readonly object[], more: object = {}, rest: Partial<Facts> = {}): Facts {
  const first = streams.find((one) => (one as { type: string }).type === 'video') as
    Record<string, unknown> | undefined;
  return {
    report: {
      ...(first ? { codec: first['codec'], size: first['size'], frame_rate: first['frame_rate'] } : {}),
      container: { format: 'mov', duration: 10.02, size: 1_500_000, bitrate: { average: 5_200_000 } },
      streams: streams.map((stream, index) => ({ index, ...stream })),
      confidence: { 'streams[0].codec.name': 0.95 },
      warnings: [],
      diff: [],
      ...more,
    },
    tools: [],
    ...rest,
  };
}
