/* Errors, of the module and of ours: both end what `attempt` runs. */
#ifndef TRAP_H
#define TRAP_H

/* Ends the running attempt with this message, or the program if there is none. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

/* What ended `work` early; NULL: nothing did. */
const char *attempt(void (*work)(void));

/* From now on a trap of the module (an access outside its memory, too deep a recursion) ends the attempt. */
void trap_prepare(void);

#endif
