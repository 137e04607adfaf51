// A tool that goes wrong in one way: HANGS, CRASHES, BABBLES, LIES or NO_JSON.
#include <stdio.h>
#include <unistd.h>

int main(void) {
#if defined(HANGS)
  for (;;) pause();
#elif defined(CRASHES)
  *(volatile int *)0 = 1;
#elif defined(BABBLES)
  puts("\x7f\x01 this is not what a tool says");
#elif defined(LIES)
  puts("ffprobe version 99.9 Copyright (c) nobody");
#elif defined(NO_JSON)
  puts("ffprobe version " VERSION " Copyright (c) nobody");
#endif
  return 0;
}
