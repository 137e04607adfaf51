/* The seven functions of ICU that libxml2 calls, for an ICU that knows no encoding: opening one fails, so the rest is never reached.
   UTF-8, UTF-16 and ISO 8859-1 do not need it: libxml2 reads those itself. ICU is the version suffix of the symbols. */
#define JOIN2(name, suffix) name##suffix
#define JOIN(name, suffix) JOIN2(name, suffix)
#define FN(name) JOIN(name, ICU)

enum { FILE_ACCESS_ERROR = 4 };

void *FN(ucnv_open)(const char *name, int *status) { (void)name; *status = FILE_ACCESS_ERROR; return 0; }
void FN(ucnv_close)(void *converter) { (void)converter; }
void FN(ucnv_convertEx)(void) { __builtin_trap(); }
void FN(ucnv_setFromUCallBack)(void) { __builtin_trap(); }
void FN(ucnv_setToUCallBack)(void) { __builtin_trap(); }
void FN(UCNV_FROM_U_CALLBACK_STOP)(void) { __builtin_trap(); }
void FN(UCNV_TO_U_CALLBACK_STOP)(void) { __builtin_trap(); }
