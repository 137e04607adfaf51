/* What a tool may ask of the kernel: see wall.c. */
#ifndef WALL_H
#define WALL_H
#include <stdint.h>

/* Once, before the first tool: finds out what this kernel can do, and says on stderr what it cannot. */
void wall_prepare(void);

/* What holds the tools here: 1 nothing, 2 a filter of system calls, 3 the filter, and every connection is watched. */
uint32_t wall_kind(void);

/* In the child, right before the exec. 0 or an errno: then there is no exec. */
int wall_enter(void);

/* In the parent, after the child's exec or failure: the descriptor from which its connections are read; -1: none. */
int wall_take(void);

/* Answers one attempt to connect. `ports`: two of 127.0.0.1, in the halves of the number; 0 is none. False: the tool
 * has ended. */
int wall_answer(int listener, uint32_t ports);

#endif
