/** Rules for the text itself: lines, tags, attribute lists, variables. Checked while parsing. */
import { info, must, should, type Rule } from '../rule.ts';

export const SYNTAX_RULES = {
  'not-a-playlist': must('4.4.1.1')`The file does not begin with #EXTM3U.
    Check the address: it may be a media file, an error page or a DASH manifest.`,
  'encoding-bom': must('4.1')`The playlist begins with a byte order mark.
    Write the file as UTF-8 without a byte order mark.`,
  'encoding-utf8': must('4.1')`The playlist is not encoded in UTF-8. Write the file as UTF-8.`,
  'encoding-control': must('4.1')`The playlist has a control character that is not a line end.
    Remove the control characters, mostly from titles.`,
  'encoding-tab': should('4.1')`The playlist has a tab, a control character that players tolerate only after EXTINF.
    Replace tabs by spaces.`,
  'encoding-nfc': must('4.1')`Text is not in Unicode normalization form C.
    Normalise names and titles to NFC before writing them.`,
  'playlist-empty': must('4.1')`The playlist has neither segments nor variants.
    Check that the packager has written its first segment.`,
  'line-whitespace': must('4.1')`The line begins or ends with white space. Trim the line.`,
  'line-ending': must('4.1')`A line ends with CR alone. Write LF or CR LF.`,
  'line-too-long': should('4.1')`The line is too long to be checked to its end.
    Move data out of the line, for example session data into a file.`,
  'tag-spelling': should('4.1')`A tag is misspelt, so players ignore it. Correct the spelling: tags are in capitals.`,
  'tag-unknown': info('4.1')`A tag is not in the specification, so players that do not know it ignore it.
    Nothing, if players that need the tag know it.`,
  'tag-value': must('4.4')`The value of a tag is invalid. Write the value in the form of the clause.`,
  'tag-duplicate': must('4.4')`A tag that applies to the whole playlist occurs more than once. Remove all but one.`,
  'tag-late': must('4.4.3')`A tag that applies to the whole playlist follows a segment.
    Move the tag before the first segment.`,
  'segment-tag-alone': must('4.4.4')`A tag of a media segment is not followed by the address of the segment.
    Add the address of the segment after the tag, or remove the tag.`,
  'playlist-mixed': must('4.1')`The playlist has tags of a media playlist and of a multivariant one.
    Put variants and segments into files of their own.`,
  'attribute-syntax': must('4.2')`An attribute list is malformed. Write NAME=value pairs with commas and no spaces.`,
  'attribute-duplicate': must('4.2')`An attribute occurs more than once in its list. Remove all but one.`,
  'attribute-missing': must('4.2')`A required attribute is missing. Add the attribute that the message names.`,
  'attribute-type': must('4.2')`The value of an attribute has the wrong type.
    Write a string in quotes, and numbers and names without.`,
  'attribute-value': must('4.2')`The value of an attribute is not one of those that are defined.
    Use one of the values of the clause.`,
  'attribute-unknown': info('4.2')`An attribute is not in the specification, so players that do not know it ignore it.
    Nothing, if players that need the attribute know it.`,
  'variable-undefined': must('4.3')`A variable is used before it is defined. Add an EXT-X-DEFINE before the first use.`,
  'define-form': must('4.4.2.3')`EXT-X-DEFINE has the wrong attributes. Keep one of NAME, IMPORT and QUERYPARAM.`,
  'define-name': must('4.3')`The name of a variable has characters other than letters, digits, - and _.
    Rename the variable.`,
  'define-duplicate': must('4.4.2.3')`A variable is defined more than once. Remove or rename one of them.`,
  'define-import': must('4.4.2.3')`An imported variable is not defined in the multivariant playlist.
    Define the variable in the multivariant playlist.`,
  'define-import-multivariant': must('4.4.2.3')`
    A multivariant playlist imports a variable, which only a media playlist may do.
    Use NAME with VALUE in the multivariant playlist.`,
  'define-parameter': must('4.4.2.3')`
    A variable is taken from a parameter that the address of the playlist does not have.
    Add the parameter to the address of the playlist.`,
  'byterange-offset': must('4.4.4.2')`A byte range has no offset. Write the offset: EXT-X-BYTERANGE:length@offset.`,
  'extinf-comma': must('4.4.4.1')`The duration of EXTINF is not followed by a comma.
    Write the comma, also without a title.`,
  'extinf-duration': must('4.4.4.1')`The duration of EXTINF is invalid. Write the duration in seconds.`,
  'extinf-double': must('4.4.4.1')`A segment has more than one EXTINF. Remove one of them, or add the missing address.`,
  'stream-inf-uri': must('4.4.6.2')`EXT-X-STREAM-INF is not followed by the address of its playlist.
    Write the address in the line after the tag.`,
  'date-form': must('4.4.4.6')`A date and time is not in ISO 8601 form. Write it as 2026-01-31T12:00:00.000Z.`,
  'date-zone': should('4.4.4.6')`A date and time has no time zone. Add Z or the offset from UTC.`,
  'discontinuity-double': should('4.4.4.3')`
    A segment has more than one EXT-X-DISCONTINUITY, which shifts the count of some players.
    Remove one of them.`,
  'analysis-cut': info('4.1')`The playlist was not checked to its end.
    Shorten the playlist; it is above what is checked.`,
} satisfies Record<string, Rule>;
