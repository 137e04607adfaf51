/*
 * The launcher: PID 1 of the container that holds the tools. It starts tools for one agent, passes on what they print,
 * and makes sure that nothing of a job is left when the job is over. A tool reads hostile media and may be taken over
 * by them. So this program shares nothing with it but the user id, is not dumpable (no ptrace of PID 1), and puts a
 * wall around it (wall.c).
 *
 *   launcher <socket> <tmp> [<dir or file to empty>...]
 *
 * It listens on the unix socket, serves ONE connection at a time, and speaks frames (numbers are big-endian):
 *
 *   frame    u32 length of what follows, u8 type, payload
 *
 *   request 1 START    u32 id, u32 wall ms, u32 cpu s, u64 data bytes, u64 file bytes, u32 processes, u32 open files,
 *                      u64 stdout cap, u64 stderr cap, u16 port, u16 another, u32 argc, u32 envc, then argc + envc
 *                      strings, each ended by NUL. A limit of 0 is left as it is. It connects to these ports of
 *                      127.0.0.1 only. argv[0] is the path: there is no shell and no search.
 *           3 KILLALL  -           ends everything but the launcher, empties the directories, then answers CLEAN
 *           8 RENEW    -           as KILLALL; when nothing is left it becomes a new process after the answer, and the
 *                      agent connects again
 *
 *   event  17 OUT      u32 id, bytes of stdout
 *          18 ERR      u32 id, bytes of stderr (past its cap they are dropped)
 *          19 EXIT     u32 id, i32 code (-1: by a signal), u32 signal, u32 flags, u64 wall us. The last of an id.
 *                      Flags: 1 wall time was up, 2 stdout cap was hit, 4 killed on request.
 *          20 FAILED   u32 id, u32 errno, u32 stage (0 could not fork, 1 could not exec). The last of an id.
 *          21 CLEAN    u32 1 when nothing is left, 0 when something could not be ended: then the pod must not be used
 *                      again; u32 what holds the tools: 1 nothing, 2 a filter of system calls, 3 the filter and watched
 *                      connections
 *
 * When the socket is not writable the pipes are not read, so a slow agent slows the tool and costs no memory here.
 * When the agent goes away everything is ended, and the next agent is accepted. SIGTERM ends the launcher when no agent
 * is connected, or as soon as it leaves: a draining agent may finish its job.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "wall.h"

enum { START = 1, KILLALL = 3, RENEW = 8 };
enum { OUT = 17, ERR, EXIT, FAILED, CLEAN };
enum { TIMED_OUT = 1, CAPPED = 2, KILLED = 4 };

#define MAX_TOOLS 16
#define MAX_STRINGS 1024
#define REQUEST_BYTES (256 * 1024)
#define EVENT_BYTES (512 * 1024)
#define PIECE (64 * 1024)
/* Room that output never takes, so that the small events always fit. */
#define RESERVE (16 * 1024)
#define CLEAN_WITHIN_MS 5000

struct limits { uint32_t cpu, processes, files; uint64_t data, file; };

struct tool {
  uint32_t id;
  pid_t pid; /* 0: this place is free; -1: reaped, its output still comes */
  int out, err;
  int asks; /* where it asks for connections */
  uint32_t ports;
  uint64_t out_left, err_left;
  uint32_t flags;
  int64_t deadline_us, started_us, ended_us;
  int status;
};

static struct tool tools[MAX_TOOLS];
static const char *tmp_dir;
static char **arguments, **wiped;
static int wiped_count;
static const char *socket_path, *socket_name;
static char socket_dir[128];
static struct stat own_socket;
static int agent = -1;
static int is_init;
static pid_t launcher_pid;
static uint8_t request[REQUEST_BYTES];
static size_t request_len;
static uint8_t event[EVENT_BYTES];
static size_t event_from, event_to;

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die(const char *what) {
  fprintf(stderr, "launcher: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* ------------------------------------------------------------ events */

static size_t event_room(void) {
  if (event_from == event_to) event_from = event_to = 0;
  if (event_from > EVENT_BYTES / 2) {
    memmove(event, event + event_from, event_to - event_from);
    event_to -= event_from;
    event_from = 0;
  }
  return EVENT_BYTES - event_to;
}

static void put32(uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) event[event_to++] = (uint8_t)(value >> shift);
}

static void put64(uint64_t value) {
  put32((uint32_t)(value >> 32));
  put32((uint32_t)value);
}

/* Begins a small event; false where the agent does not read and not even these fit any more: then it is cut off. */
static int begin(uint8_t type, uint32_t payload) {
  if (agent < 0) return 0;
  if (event_room() < payload + 5) {
    shutdown(agent, SHUT_RDWR);
    return 0;
  }
  put32(payload + 1);
  event[event_to++] = type;
  return 1;
}

static void flush_events(void) {
  while (agent >= 0 && event_from < event_to) {
    ssize_t sent = send(agent, event + event_from, event_to - event_from, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return; /* full, or gone: poll tells which */
    event_from += (size_t)sent;
  }
}

/* ------------------------------------------------------------- tools */

static struct tool *find_pid(pid_t pid) {
  for (int i = 0; i < MAX_TOOLS; i++)
    if (tools[i].pid == pid) return &tools[i];
  return NULL;
}

static struct tool *find_id(uint32_t id) {
  for (int i = 0; i < MAX_TOOLS; i++)
    if (tools[i].pid != 0 && tools[i].id == id) return &tools[i];
  return NULL;
}

static void close_pipe(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void kill_tool(struct tool *tool, uint32_t flag) {
  if (tool->pid <= 0) return;
  tool->flags |= flag;
  kill(-tool->pid, SIGKILL);
}

/* The exit is told when the output is out: both pipes at their end, or empty although the tool is gone (a process that
 * left its group may hold them open for ever). */
static void finish(struct tool *tool) {
  close_pipe(&tool->out);
  close_pipe(&tool->err);
  close_pipe(&tool->asks); /* what it left behind connects no more */
  int by_signal = WIFSIGNALED(tool->status);
  if (begin(EXIT, 24)) {
    put32(tool->id);
    put32(by_signal ? (uint32_t)-1 : (uint32_t)WEXITSTATUS(tool->status));
    put32(by_signal ? (uint32_t)WTERMSIG(tool->status) : 0);
    put32(tool->flags);
    put64((uint64_t)(tool->ended_us - tool->started_us));
  }
  tool->pid = 0;
}

/* Reaps what ended, adopted processes too. A group is killed before its leader is reaped: until then no other process
 * can have its id. */
static void reap(void) {
  for (;;) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) return;
    struct tool *tool = find_pid(info.si_pid);
    if (tool) kill(-info.si_pid, SIGKILL);
    int status;
    if (waitpid(info.si_pid, &status, WNOHANG) != info.si_pid || !tool) continue;
    tool->status = status;
    tool->ended_us = now_us();
    tool->pid = -1;
  }
}

static void limit(int which, uint64_t soft, uint64_t hard) {
  if (soft == 0) return;
  struct rlimit value = {soft, hard};
  setrlimit(which, &value);
}

/* Runs in the memory of the launcher, which stands still until the exec (vfork: a fork would copy page tables). */
static __attribute__((noinline)) int child(char **argv, char **env, const struct limits *limits, int out, int err) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  /* A launcher that was killed before the line above sends no signal any more. */
  if (getppid() != launcher_pid) return ESRCH;
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) return errno;
  if (chdir(tmp_dir) < 0) return errno;
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit(RLIMIT_CPU, limits->cpu, (uint64_t)limits->cpu + 1);
  limit(RLIMIT_DATA, limits->data, limits->data);
  limit(RLIMIT_FSIZE, limits->file, limits->file);
  limit(RLIMIT_NPROC, limits->processes, limits->processes);
  limit(RLIMIT_NOFILE, limits->files, limits->files);
  int walled = wall_enter();
  if (walled) return walled;
  execve(argv[0], argv, env);
  return errno;
}

static pid_t spawn(char **argv, char **env, const struct limits *limits, int out, int err, volatile int *failure) {
  pid_t pid = vfork();
  if (pid == 0) {
    *failure = child(argv, env, limits, out, err);
    _exit(127);
  }
  return pid;
}

/* Where memory runs out and the kernel takes one process only, it is to be the tool. Raising needs no privilege. */
static void first_victim(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "1000", 4) < 0) { /* the container's own limit still holds */ }
  close(fd);
}

static void failed(uint32_t id, int error, uint32_t stage) {
  if (!begin(FAILED, 12)) return;
  put32(id);
  put32((uint32_t)error);
  put32(stage);
}

static uint32_t get32(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
static uint64_t get64(const uint8_t *at) { return (uint64_t)get32(at) << 32 | get32(at + 4); }

/* False: the agent does not keep to the protocol. */
static int start(uint8_t *at, size_t length) {
  static char *strings[MAX_STRINGS + 2];
  if (length < 64) return 0;
  int64_t begun = now_us();
  uint32_t id = get32(at), wall_ms = get32(at + 4);
  struct limits limits = {.cpu = get32(at + 8),
                          .data = get64(at + 12),
                          .file = get64(at + 20),
                          .processes = get32(at + 28),
                          .files = get32(at + 32)};
  uint64_t out_cap = get64(at + 36), err_cap = get64(at + 44);
  uint32_t ports = get32(at + 52), argc = get32(at + 56), envc = get32(at + 60);
  if (argc == 0 || argc > MAX_STRINGS || envc > MAX_STRINGS - argc || find_id(id)) return 0;
  uint8_t *text = at + 64, *end = at + length;
  uint32_t slot = 0;
  for (uint32_t i = 0; i < argc + envc; i++) {
    uint8_t *nul = memchr(text, 0, (size_t)(end - text));
    if (!nul) return 0;
    strings[slot++] = (char *)text;
    if (i + 1 == argc) strings[slot++] = NULL;
    text = nul + 1;
  }
  if (text != end) return 0;
  strings[slot] = NULL;

  struct tool *tool = find_pid(0);
  int out[2], err[2];
  if (!tool) return failed(id, EAGAIN, 0), 1;
  if (pipe2(out, O_CLOEXEC) < 0) return failed(id, errno, 0), 1;
  if (pipe2(err, O_CLOEXEC) < 0) {
    int error = errno;
    close(out[0]);
    close(out[1]);
    return failed(id, error, 0), 1;
  }
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  volatile int failure = 0;
  pid_t pid = spawn(strings, strings + argc + 1, &limits, out[1], err[1], &failure);
  int error = pid < 0 ? errno : failure, asks = wall_take();
  close(out[1]);
  close(err[1]);
  if (error) {
    close(out[0]);
    close(err[0]);
    close_pipe(&asks);
    if (pid > 0) waitpid(pid, NULL, 0);
    return failed(id, error, pid > 0), 1;
  }
  first_victim(pid);
  *tool = (struct tool){.id = id,
                        .pid = pid,
                        .out = out[0],
                        .err = err[0],
                        .asks = asks,
                        .ports = ports,
                        .out_left = out_cap,
                        .err_left = err_cap,
                        .started_us = begun,
                        .deadline_us = wall_ms ? begun + (int64_t)wall_ms * 1000 : INT64_MAX};
  return 1;
}

/* Passes on what is in a pipe as long as there is room; true when the pipe has nothing for now. */
static int pass_on(struct tool *tool, int *fd, uint8_t type) {
  static uint8_t dropped[PIECE];
  uint64_t *left = type == OUT ? &tool->out_left : &tool->err_left;
  while (*fd >= 0) {
    size_t room = event_room();
    if (room < PIECE + RESERVE) {
      flush_events();
      room = event_room();
      if (room < PIECE + RESERVE) return 0;
    }
    /* Over the cap the bytes go nowhere; the pipe is read on, so that the tool does not hang before it is dead. */
    uint8_t *into = *left ? event + event_to + 9 : dropped;
    ssize_t got = read(*fd, into, PIECE);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return 1;
    if (got <= 0) {
      close_pipe(fd);
      return 1;
    }
    if (*left == 0 || (uint64_t)got > *left) {
      if (type == OUT) kill_tool(tool, CAPPED);
      if (type == OUT && tool->pid < 0) tool->flags |= CAPPED;
    }
    if ((uint64_t)got > *left) got = (ssize_t)*left;
    *left -= (uint64_t)got;
    if (got == 0) continue;
    put32((uint32_t)got + 5);
    event[event_to++] = type;
    put32(tool->id);
    event_to += (size_t)got;
  }
  return 1;
}

/* -------------------------------------------------------- cleaning up */

/* Directories nested deeper than this are moved to the top and emptied from there: each level holds a descriptor. */
#define DEPTH 64

static void empty(int top, int dir, int depth, const char *kept) {
  static unsigned brought_up;
  fchmod(dir, 0700);
  DIR *list = fdopendir(dir);
  if (!list) {
    close(dir);
    return;
  }
  for (struct dirent *entry; (entry = readdir(list));) {
    const char *name = entry->d_name;
    if (!strcmp(name, ".") || !strcmp(name, "..") || (kept && !strcmp(name, kept))) continue;
    if (unlinkat(dirfd(list), name, 0) == 0 || unlinkat(dirfd(list), name, AT_REMOVEDIR) == 0) continue;
    if (fchmodat(dirfd(list), name, 0700, 0) < 0) { /* the unlink below fails, too, and is counted */ }
    if (depth == 0) {
      char up[32];
      snprintf(up, sizeof up, ".up-%u", brought_up++);
      renameat(dirfd(list), name, top, up);
      continue;
    }
    int inner = openat(dirfd(list), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) empty(top, inner, depth - 1, NULL);
    unlinkat(dirfd(list), name, AT_REMOVEDIR);
  }
  closedir(list);
}

static int is_empty(const char *path, const char *kept) {
  DIR *list = opendir(path);
  int left = 0;
  for (struct dirent *entry; list && (entry = readdir(list));)
    left += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && (!kept || strcmp(entry->d_name, kept));
  if (list) closedir(list);
  return left == 0;
}

/* False where something is left. */
static int empty_all(const char *path, const char *kept) {
  int64_t deadline = now_us() + CLEAN_WITHIN_MS * 1000;
  do {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* What is closed to the launcher was closed to the tool. */
    if (dir < 0 && errno == ENOTDIR) return truncate(path, 0) == 0 || errno == EACCES || errno == EROFS;
    if (dir < 0) return errno == ENOENT || errno == EACCES;
    int top = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    empty(top, dir, DEPTH, kept);
    close(top);
    if (is_empty(path, kept)) return 1;
  } while (now_us() < deadline);
  return 0;
}

/* The agent uses the directory of the socket too, and a tool may write there: what it wrote is removed. A socket that
 * is no longer ours makes the pod unclean, because another process could start the next tools. */
static int wipe(void) {
  int clean = 1;
  for (int i = 0; i < wiped_count; i++) clean &= empty_all(wiped[i], NULL);
  clean &= empty_all(socket_dir, socket_name);
  struct stat now;
  return clean && lstat(socket_path, &now) == 0 && now.st_dev == own_socket.st_dev &&
         now.st_ino == own_socket.st_ino && now.st_mode == own_socket.st_mode;
}

/* As init, every other process that can be seen is ours. Elsewhere (tests) orphans become our children, level by level,
 * because we are their subreaper. */
static void kill_children(void) {
  if (is_init) {
    kill(-1, SIGKILL);
    return;
  }
  char path[64], list[8192];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t length = read(fd, list, sizeof list - 1);
  close(fd);
  if (length <= 0) return;
  list[length] = 0;
  for (char *at = list, *end; *at; at = end) {
    long pid = strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 1) {
      kill((pid_t)pid, SIGKILL);
      kill((pid_t)-pid, SIGKILL);
    }
    while (*end == ' ') end++;
  }
}

static int kill_all(void) {
  for (int i = 0; i < MAX_TOOLS; i++) {
    /* Its output ends here, too, if it has exited already. */
    if (tools[i].pid != 0) tools[i].flags |= KILLED;
    kill_tool(&tools[i], KILLED);
  }
  int64_t deadline = now_us() + CLEAN_WITHIN_MS * 1000;
  int clean = 0;
  while (!clean && now_us() < deadline) {
    kill_children();
    reap();
    siginfo_t info;
    clean = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    if (!clean) nanosleep(&(struct timespec){0, 200000}, NULL);
  }
  for (int i = 0; i < MAX_TOOLS; i++) {
    if (tools[i].pid == 0) continue;
    if (tools[i].pid > 0) clean = 0;
    finish(&tools[i]);
  }
  return wipe() && clean;
}

static void disconnect(void) {
  close(agent);
  agent = -1;
  request_len = event_from = event_to = 0;
  kill_all();
}

/* ---------------------------------------------------------- requests */

static int clean_up(void) {
  int clean = kill_all();
  if (begin(CLEAN, 8)) {
    put32((uint32_t)clean);
    put32(wall_kind());
  }
  return clean;
}

/* The memory of this process held what tools of the former tenant printed, and their arguments. The signal mask, the
 * limits and what prctl set outlast the exec or are set again; no tool runs while it happens. */
static int renew(void) {
  if (!clean_up()) return 1;
  /* The answer is small and precedes the end of the connection, or the agent takes the end for a refusal. */
  struct pollfd writable = {.fd = agent, .events = POLLOUT};
  for (flush_events(); event_from < event_to; flush_events())
    /* An agent that is gone is never written to again. */
    if (poll(&writable, 1, CLEAN_WITHIN_MS) <= 0 || (writable.revents & (POLLERR | POLLHUP))) return 0;
  execv(arguments[0], arguments);
  die(arguments[0]);
  return 0;
}

static int handle(uint8_t type, uint8_t *at, size_t length) {
  switch (type) {
    case START:
      return start(at, length);
    case KILLALL:
      clean_up();
      return 1;
    case RENEW:
      return length == 0 && renew();
    default:
      return 0;
  }
}

/* False when the agent is gone or talks nonsense. */
static int take_requests(void) {
  ssize_t got = recv(agent, request + request_len, REQUEST_BYTES - request_len, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return 0;
  request_len += (size_t)got;
  size_t at = 0;
  while (request_len - at >= 5) {
    uint32_t length = get32(request + at);
    if (length == 0 || length > REQUEST_BYTES - 4) return 0;
    if (request_len - at < 4 + (size_t)length) break;
    if (!handle(request[at + 4], request + at + 5, length - 1)) return 0;
    at += 4 + (size_t)length;
  }
  memmove(request, request + at, request_len - at);
  request_len -= at;
  return 1;
}

static int listen_on(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) errno = ENAMETOOLONG, die(path);
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(path);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0660) < 0 ||
      listen(fd, 4) < 0 || lstat(path, &own_socket) < 0)
    die(path);
  socket_path = path;
  socket_name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  snprintf(socket_dir, sizeof socket_dir, "%.*s", (int)(socket_name - path), path);
  return fd;
}

/* Milliseconds until the next wall time is up; ends the tools whose time is. */
static int next_deadline(void) {
  int64_t now = now_us(), next = INT64_MAX;
  for (int i = 0; i < MAX_TOOLS; i++) {
    struct tool *tool = &tools[i];
    if (tool->pid <= 0) continue;
    if (tool->deadline_us <= now) {
      kill_tool(tool, TIMED_OUT);
      tool->deadline_us = INT64_MAX;
    }
    if (tool->deadline_us < next) next = tool->deadline_us;
  }
  if (next == INT64_MAX) return -1;
  int64_t wait = (next - now) / 1000 + 1;
  return wait > 60000 ? 60000 : (int)wait;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: launcher <socket> <tmp> [<dir or file to empty>...]\n");
    return 2;
  }
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
  syscall(SYS_close_range, 3u, ~0u, 0u);
  arguments = argv;
  tmp_dir = argv[2];
  wiped = argv + 2;
  wiped_count = argc - 2;
  launcher_pid = getpid();
  is_init = launcher_pid == 1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("no_new_privs");
  if (prctl(PR_SET_DUMPABLE, 0) < 0) die("dumpable");
  if (!is_init && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) die("subreaper");

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd < 0) die("signalfd");
  int listener = listen_on(argv[1]);
  wall_prepare();
  wipe();

  int ending = 0;
  while (!(ending && agent < 0)) {
    struct pollfd polled[3 + 3 * MAX_TOOLS];
    int timeout = next_deadline();
    int room = event_room() >= PIECE + RESERVE;
    polled[0] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = agent < 0 ? listener : -1, .events = POLLIN};
    polled[2] = (struct pollfd){.fd = agent, .events = (short)(POLLIN | (event_from < event_to ? POLLOUT : 0))};
    for (int i = 0; i < MAX_TOOLS; i++) {
      int live = tools[i].pid != 0 && room;
      polled[3 + 3 * i] = (struct pollfd){.fd = live ? tools[i].out : -1, .events = POLLIN};
      polled[4 + 3 * i] = (struct pollfd){.fd = live ? tools[i].err : -1, .events = POLLIN};
      polled[5 + 3 * i] = (struct pollfd){.fd = tools[i].pid != 0 ? tools[i].asks : -1, .events = POLLIN};
    }
    if (poll(polled, 3 + 3 * MAX_TOOLS, timeout) < 0 && errno != EINTR) die("poll");

    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) == sizeof info)
      /* From outside its PID namespace a signal has no sender: what has one comes from a tool. */
      if (info.ssi_signo != SIGCHLD && (!is_init || info.ssi_pid == 0)) ending = 1;
    for (int i = 0; i < MAX_TOOLS; i++) {
      if (polled[5 + 3 * i].fd < 0 || polled[5 + 3 * i].revents == 0) continue;
      if (!(polled[5 + 3 * i].revents & POLLIN) || !wall_answer(tools[i].asks, tools[i].ports))
        close_pipe(&tools[i].asks);
    }
    reap();
    if (agent < 0) {
      if (polled[1].revents & POLLIN) agent = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
      continue;
    }
    if ((polled[2].revents & (POLLIN | POLLHUP | POLLERR)) && !take_requests()) {
      disconnect();
      continue;
    }
    for (int i = 0; i < MAX_TOOLS; i++) {
      struct tool *tool = &tools[i];
      if (tool->pid == 0) continue;
      int empty_out = pass_on(tool, &tool->out, OUT);
      int empty_err = pass_on(tool, &tool->err, ERR);
      if (tool->pid < 0 && empty_out && empty_err) finish(tool);
    }
    flush_events();
  }
  kill_all();
  return 0;
}
