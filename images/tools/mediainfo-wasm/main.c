/*
 * The command line of MediaInfo for versions that exist only as WebAssembly. It takes the options of the real one that
 * a caller can set; those that the compiled library has no entry for are accepted and change nothing (--Help says
 * which). Unlike the real one it ends with 1 when nothing could be read; what it prints then is the same.
 */
#include "library.h"
#include "options.h"
#include "origin.h"
#include "output.h"
#include "trap.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: mediainfo [options] FILE_OR_HTTP_ADDRESS\n"
    "  --Output=FORMAT    JSON, XML, Text, HTML and what else this version of the library knows\n"
    "  --Inform=TEMPLATE  the same option, by its other name\n"
    "  --Full, -f         everything, internal fields too\n"
    "  --Cover_Data=base64\n"
    "  --Language=raw, --ParseSpeed=0..1 and others: passed on where the library takes options, else without effect\n"
    "  --Version, --Help\n"
    "  --Info_OutputFormats\n";

/* Formats that a build may have been made without, beside Text, HTML, XML and JSON. */
static const char *const exports[] = {
    "EBUCore_1.8_ps", "EBUCore_1.8_sp",  "EBUCore_1.8_ps_JSON", "EBUCore_1.8_sp_JSON", "EBUCore_1.6",
    "FIMS_1.3",       "MPEG-7_Strict",   "MPEG-7_Relaxed",      "MPEG-7_Extended",     "PBCore_2.1",
    "PBCore_2.0",     "PBCore_1.2",      "NISO_Z39.87",
};

static struct options options;
static int count;
static char **arguments;
static struct text printed, version;

static void read_all_options(void) { options = read_options(count, arguments); }
static void open_library(void) { library_open(&options); }
static void find_version(void) { library_version(&version); }

/* Feeds the library from where it wants to read, until it has enough. The first read is small: most files are known by
   then. */
static void analyse(void) {
  struct origin origin = open_origin(options.address);
  double offset = 0;
  library_begin(origin.size, 0);
  for (;;) {
    struct chunk chunk = origin.read(offset);
    if (chunk.length == 0 || library_feed(chunk.bytes, chunk.length)) break;
    double wanted = library_wants();
    if (wanted == -1) {
      offset += chunk.length;
    } else if (wanted >= origin.size || !origin.can_seek(wanted)) {
      break;
    } else {
      offset = wanted;
      library_begin(origin.size, offset);
    }
  }
  library_end();
  library_inform(&printed);
  add_address(&printed, options.output, options.address);
}

/* A format that is missing prints text instead, which begins with neither bracket. */
static void list_formats(void) {
  text_add_string(&printed, "Text\nHTML\nXML\nJSON\n");
  for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
    static struct text example;
    library_open(&(struct options){.output = exports[i]});
    library_begin(0, 0);
    library_end();
    library_inform(&example);
    const char *begin = example.bytes;
    while (isspace((unsigned char)*begin)) begin++;
    if (*begin != '<' && *begin != '{') continue;
    text_add_string(&printed, exports[i]);
    text_add_string(&printed, "\n");
  }
}

static int print(int code) {
  bool ends = printed.length > 0 && printed.bytes[printed.length - 1] == '\n';
  fwrite(printed.bytes, 1, printed.length, stdout);
  if (!ends) putchar('\n');
  return fflush(stdout) == 0 ? code : 1;
}

static int print_error(const char *error) {
  fprintf(stderr, "E: %s\n", error);
  return 1;
}

static int print_usage(int code) {
  text_add_string(&printed, usage);
  if (code == 0 && *without_effect != 0) {
    text_add_string(&printed, "Without effect: ");
    text_add_string(&printed, without_effect);
    text_add_string(&printed, "\n");
  }
  return print(code);
}

static int print_version(void) {
  const char *error = attempt(find_version);
  if (error != NULL) return print_error(error);
  text_add_string(&printed, "MediaInfo Command line, \nMediaInfoLib - v");
  text_add_string(&printed, version.bytes);
  return print(0);
}

static int print_formats(void) {
  const char *error = attempt(list_formats);
  return error == NULL ? print(0) : print_error(error);
}

static int print_analysis(void) {
  const char *error = attempt(open_library);
  if (error == NULL) error = attempt(analyse);
  if (error == NULL) return print(0);
  fprintf(stderr, "E: %s, %s\n", options.address, error);
  error = attempt(find_version);
  empty_output(&printed, options.output, error == NULL ? version.bytes : "unknown");
  return print(1);
}

int main(int argc, char **argv) {
  count = argc - 1;
  arguments = argv + 1;
  trap_prepare();
  const char *error = attempt(read_all_options);
  if (error != NULL) return print_error(error);
  if (options.help) return print_usage(0);
  if (options.formats) return print_formats();
  if (options.version) return print_version();
  if (options.address == NULL) return print_usage(1);
  return print_analysis();
}
