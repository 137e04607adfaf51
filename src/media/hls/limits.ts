/** Bounds of one validation. */
export const LIMITS = {
  /** Per playlist; the rest is not read. A million lines have about 30 MB. */
  playlistBytes: 48 << 20,
  /** For all playlists of a presentation; further ones are not read. */
  presentationBytes: 256 << 20,
  presentationLines: 2_400_000,
  /** Maximum number of media playlists of a presentation. */
  playlists: 120,
  /** Concurrent reads. */
  parallel: 4,
  /** Segments measured in each playlist, bytes of each, and bytes in total. */
  segments: 8,
  segmentBytes: 64 << 20,
  measuredBytes: 1_000_000_000,
  /** Reloads of a live playlist after the first read, and the number of reloaded playlists. */
  reloads: 3,
  reloaded: 4,
};
export type Limits = typeof LIMITS;

/**
 * Limits if other tools run in the same container. A playlist of 48 MB, and 120 of 3 MB, took 250 and 260 MB of memory
 * with these, 426 and 510 MB with LIMITS.
 */
export const LIMITS_BESIDE: Limits = {
  ...LIMITS,
  playlistBytes: LIMITS.playlistBytes / 4,
  presentationBytes: LIMITS.presentationBytes / 4,
  presentationLines: LIMITS.presentationLines / 4,
  segmentBytes: LIMITS.segmentBytes / 4,
};
