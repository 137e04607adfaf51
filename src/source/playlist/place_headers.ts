/**
 * What the proxy tells a tool that reads playlists as they are. Where the text came from: its references are relative
 * to that. And the parameters of the source's query that the tool asks for by name, separated by commas.
 */
export const PLACE_HEADER = 'x-source-place';
export const PARAMETERS_HEADER = 'x-source-parameters';
