/** Name and version of the validator. */
export const HLS_TOOL = 'probeyard-hls';
export const HLS_VERSION = '1.0.0';
/** The reference validator whose interface the report replaces. */
export const REFERENCE_VERSION = '1.24.5 (686.23b-241118)';
