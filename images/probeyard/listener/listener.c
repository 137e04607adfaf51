/*
 * Opens the socket on which an agent serves a job's source to its tools, and becomes the agent. As process 1 of its
 * container it starts the agent as a child, passes signals on, and ends as the child does: the kernel drops a signal
 * for process 1 that has no handler, Node takes a second until it has one, and a pod that was deleted in that second
 * stayed for its whole grace period.
 *
 *   listener <bytes> <program> [<argument>...]
 *
 * Connections inherit the socket's send buffer. On the loopback interface the kernel lets it grow to megabytes, and a
 * tool that reads 30 KB and then seeks leaves them unread: each was read from the origin and copied for nothing. Node
 * cannot set the size. The descriptor is in PY_SOURCE_FD. An agent that is renewed starts this program again, by
 * PY_LISTENER and PY_SOURCE_BYTES, and passes on no other descriptor.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 511

static int fail(const char *what) {
  fprintf(stderr, "listener: %s: %s\n", what, strerror(errno));
  return 1;
}

/* Until the agent ends. Returns the status to exit with. */
static int attend(pid_t agent, const sigset_t *signals) {
  for (;;) {
    int signal, status;
    if (sigwait(signals, &signal)) continue;
    if (signal != SIGCHLD) kill(agent, signal);
    /* Processes without a parent become children of process 1. */
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == agent) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

int main(int argc, char **argv) {
  char *end, number[16];
  long bytes = argc < 3 ? 0 : strtol(argv[1], &end, 10);
  if (bytes < 4096 || bytes > 1 << 24 || *end) {
    fprintf(stderr, "usage: listener <bytes, 4096 to 16777216> <program> [<argument>...]\n");
    return 2;
  }
  syscall(SYS_close_range, 3u, ~0u, 0u);
  if (getpid() == 1) {
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t agent = fork();
    if (agent < 0) return fail("fork");
    if (agent > 0) return attend(agent, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
  }
  int size = (int)bytes, listening = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  if (listening < 0) return fail("socket");
  if (setsockopt(listening, SOL_SOCKET, SO_SNDBUF, &size, sizeof size)) return fail("setsockopt");
  if (bind(listening, (struct sockaddr *)&here, sizeof here)) return fail("bind");
  if (listen(listening, BACKLOG)) return fail("listen");
  snprintf(number, sizeof number, "%d", listening);
  if (setenv("PY_SOURCE_FD", number, 1) || setenv("PY_LISTENER", argv[0], 1) || setenv("PY_SOURCE_BYTES", argv[1], 1))
    return fail("setenv");
  execv(argv[2], argv + 2);
  return fail(argv[2]);
}
