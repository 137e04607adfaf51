/**
 * Headers for a tool that reads playlists unmodified: the final address of a text, which is the base of its references,
 * and parameters of the source's query. The tool requests parameters by name, separated by commas.
 */
export const PLACE_HEADER = 'x-source-place';
export const PARAMETERS_HEADER = 'x-source-parameters';
