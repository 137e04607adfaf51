/** What the validator says of itself. */
export const HLS_TOOL = 'probeyard-hls';
export const HLS_VERSION = '1.0.0';
/** The reference validator whose interface the report stands in for. */
export const REFERENCE_VERSION = '1.24.5 (686.23b-241118)';
