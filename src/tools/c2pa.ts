/**
 * Where the operator's trust anchors and settings of the C2PA check are in the container of the tools; missing where
 * there are none.
 */
export const C2PA_CONFIG_DIR = '/etc/probeyard/c2pa';
