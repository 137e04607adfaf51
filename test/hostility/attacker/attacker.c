/*
 * A tool that has been taken over. It prints of itself what a proof expects. Given a source, it reads it through the
 * source proxy as any tool does, treats each line as an attempt (`name|what|arguments...`), and prints what each got.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static char got[65536];
static const char *address; /* http://127.0.0.1:PORT/SECRET/ffprobe/NAME */
static int proxy_port;
static char secret[64];

static void say(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(got, sizeof got, format, list);
  va_end(list);
}
static void outcome(long result, const char *well) {
  if (result < 0) say("%s", strerrorname_np(errno));
  else say("%s", well);
}

static struct sockaddr_in at(const char *ip, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, ip, &to.sin_addr);
  return to;
}

static int dial(const char *ip, int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  struct sockaddr_in to = at(ip, port);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
  if (errno != EINPROGRESS) return close(fd), -1;
  struct pollfd wait = {.fd = fd, .events = POLLOUT};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (poll(&wait, 1, 1500) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

/* Sends one request, reads all of the answer. */
static size_t ask(const char *request, char *into, size_t room) {
  int fd = dial("127.0.0.1", proxy_port);
  if (fd < 0) return 0;
  size_t total = 0;
  if (write(fd, request, strlen(request)) > 0)
    for (struct pollfd wait = {.fd = fd, .events = POLLIN}; total + 1 < room && poll(&wait, 1, 15000) > 0;) {
      ssize_t more = read(fd, into + total, room - 1 - total);
      if (more <= 0) break;
      total += (size_t)more;
    }
  into[total] = 0;
  close(fd);
  return total;
}
static void status_of(const char *format, ...) {
  static char answer[65536];
  char request[8192];
  va_list list;
  va_start(list, format);
  vsnprintf(request, sizeof request, format, list);
  va_end(list);
  if (ask(request, answer, sizeof answer) == 0) return say("nothing");
  char *body = strstr(answer, "\r\n\r\n");
  say("%.3s %.60s", answer + 9, body ? body + 4 : "");
}
static const char *base64(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static char out[512];
  size_t length = strlen(text), o = 0;
  for (size_t i = 0; i < length; i += 3) {
    uint32_t v = (uint32_t)(uint8_t)text[i] << 16 | (i + 1 < length ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0) |
                 (i + 2 < length ? (uint8_t)text[i + 2] : 0);
    for (int k = 0; k < 4; k++) out[o++] = i + (size_t)k > length ? '=' : letters[v >> (18 - 6 * k) & 63];
  }
  out[o] = 0;
  return out;
}

static void try_tcp(const char *ip, int port) {
  int fd = dial(ip, port);
  if (fd < 0) return say("%s", strerrorname_np(errno));
  char banner[33] = "";
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  if (poll(&wait, 1, 300) > 0 && read(fd, banner, 32) < 0) banner[0] = 0;
  say("connected %s", banner);
}

static void try_read(const char *path) {
  int fd = open(path, O_RDONLY);
  char bytes[1] ;
  if (fd < 0) return say("%s", strerrorname_np(errno));
  ssize_t read_ = read(fd, bytes, 1);
  if (read_ < 0) return say("%s", strerrorname_np(errno));
  say(read_ == 0 ? "empty" : "read");
}

static void try_list(const char *path) {
  DIR *list = opendir(path);
  if (!list) return say("%s", strerrorname_np(errno));
  size_t used = 0;
  got[0] = 0;
  for (struct dirent *entry; (entry = readdir(list)) && used < 4000;)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
      used += (size_t)sprintf(got + used, "%s%s", used ? " " : "", entry->d_name);
  closedir(list);
}

/* One thread asks for a connection while the other changes the address that is asked for. */
static struct sockaddr_in torn;
static volatile int racing;
static struct sockaddr_in one, another;
static void *tear(void *nothing) {
  while (racing) {
    torn.sin_addr = another.sin_addr, torn.sin_port = another.sin_port;
    torn.sin_addr = one.sin_addr, torn.sin_port = one.sin_port;
  }
  return nothing;
}
static void try_race(const char *ip, int port) {
  one = torn = at("127.0.0.1", proxy_port);
  another = at(ip, port);
  racing = 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, tear, NULL)) return say("no thread");
  int connected = 0, elsewhere = 0;
  for (int i = 0; i < 1000; i++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&torn, sizeof torn) == 0) {
      struct sockaddr_in peer;
      socklen_t size = sizeof peer;
      connected++;
      if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_port != one.sin_port) elsewhere++;
    }
    close(fd);
  }
  racing = 0;
  pthread_join(thread, NULL);
  say("%d elsewhere%s", elsewhere, connected ? "" : ", and none at all");
}

static void try_deep(const char *path, int levels) {
  int dir = open(path, O_DIRECTORY | O_RDONLY), level = 0;
  for (; dir >= 0 && level < levels; level++) {
    if (mkdirat(dir, "d", 0700) < 0) break;
    int next = openat(dir, "d", O_DIRECTORY | O_RDONLY);
    close(dir);
    dir = next;
  }
  int fd = dir < 0 ? -1 : openat(dir, "left", O_CREAT | O_WRONLY, 0600);
  if (fd < 0) return say("%s", strerrorname_np(errno));
  say("%d levels", level);
}

/* Leaves the group, the session and its parent. */
static void try_stay(const char *path) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    for (;;) {
      int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
      if (fd >= 0 && write(fd, ".", 1) < 0) {}
      close(fd);
      usleep(2000);
    }
  }
  /* At most 10 s: a busy node starts the other process late. */
  for (int tries = 0; tries < 5000 && access(path, F_OK); tries++) usleep(2000);
  outcome(access(path, F_OK), "stays");
}

static void try_processes(void) {
  DIR *list = opendir("/proc");
  int count = 0;
  for (struct dirent *entry; list && (entry = readdir(list));) {
    int pid = atoi(entry->d_name);
    if (pid > 1 && pid != getpid()) count++;
  }
  say("%d others", count);
}

static void try_fork(int most) {
  int made = 0;
  while (made < most) {
    pid_t pid = fork();
    if (pid < 0) return say("%s after some", strerrorname_np(errno));
    if (pid == 0) for (;;) pause();
    made++;
  }
  say("%d", made);
}

static void try_io_uring(void) {
  char room[256] = {0};
  outcome(syscall(425, 4, room), "made");
}

static void attempt(const char *what, char *a, char *b) {
  int n = b ? atoi(b) : 0;
  got[0] = 0;
  errno = 0;
#define IS(name) (!strcmp(what, name))
  if (IS("tcp")) try_tcp(a, n);
  else if (IS("race")) try_race(a, n);
  else if (IS("fastopen")) {
    struct sockaddr_in to = at(a, n);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    outcome(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&to, sizeof to), "sent");
  } else if (IS("udp")) {
    struct sockaddr_in to = at(a, n);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) return say("%s", strerrorname_np(errno));
    outcome(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to), "sent");
  } else if (IS("socket")) {
    int family = atoi(a), type = n % 100, protocol = n / 100;
    outcome(socket(family, type, protocol), "made");
  } else if (IS("pair")) {
    int pair[2];
    outcome(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), "made");
  } else if (IS("unix")) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, a, sizeof to.sun_path - 1);
    if (to.sun_path[0] == '@') to.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return say("%s", strerrorname_np(errno));
    outcome(connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(a))),
            "connected");
  } else if (IS("listen")) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    outcome(listen(fd, 4), "listens");
  } else if (IS("bind")) {
    struct sockaddr_in to = at("0.0.0.0", n);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    outcome(bind(fd, (struct sockaddr *)&to, sizeof to), "bound");
  } else if (IS("read")) try_read(a);
  else if (IS("write")) {
    int fd = open(a, O_CREAT | O_WRONLY, 0666);
    outcome(fd < 0 ? -1 : write(fd, "left", 4), "written");
  } else if (IS("list")) try_list(a);
  else if (IS("exists")) outcome(access(a, F_OK), "is there");
  else if (IS("replace")) outcome(unlink(a), "removed");
  else if (IS("chmod")) outcome(chmod(a, 0777), "changed");
  else if (IS("deep")) try_deep(a, n);
  else if (IS("kill")) outcome(kill(atoi(a), n), "sent");
  else if (IS("ptrace")) outcome(ptrace(PTRACE_SEIZE, atoi(a), 0, 0), "seized");
  else if (IS("vm")) {
    char byte;
    struct iovec mine = {&byte, 1}, other = {(void *)0x400000, 1};
    outcome(syscall(SYS_process_vm_readv, atoi(a), &mine, 1, &other, 1, 0), "read");
  } else if (IS("prlimit")) {
    struct rlimit limit = {64, 64};
    outcome(syscall(SYS_prlimit64, atoi(a), RLIMIT_NOFILE, &limit, NULL), "set");
  } else if (IS("affinity")) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    outcome(sched_setaffinity(atoi(a), sizeof set, &set), "set");
  } else if (IS("nice")) outcome(setpriority(n, (id_t)atoi(a), 19), "set");
  else if (IS("ionice")) outcome(syscall(SYS_ioprio_set, n, atoi(a), 3 << 13), "set");
  else if (IS("setuid")) outcome(setuid((uid_t)atoi(a)), "changed");
  else if (IS("mount")) outcome(mount("none", a, "tmpfs", 0, ""), "mounted");
  else if (IS("chroot")) outcome(chroot("/"), "changed");
  else if (IS("unshare")) outcome(unshare(atoi(a)), "unshared");
  else if (IS("setns")) {
    int fd = open(a, O_RDONLY);
    outcome(fd < 0 ? -1 : setns(fd, 0), "entered");
  } else if (IS("bpf")) outcome(syscall(SYS_bpf, 0, got, 0), "made");
  else if (IS("uring")) try_io_uring();
  else if (IS("x32")) outcome(syscall(0x40000000 | SYS_socket, AF_INET, SOCK_DGRAM, 0), "made");
  else if (IS("keyring")) outcome(syscall(SYS_add_key, "user", "left", "x", 1, -4), "kept");
  else if (IS("keyfind")) outcome(syscall(SYS_request_key, "user", "left", NULL, 0), "found");
  else if (IS("shm")) outcome(shmget(0x5eed, 4096, IPC_CREAT | 0666), "made");
  else if (IS("shmfind")) outcome(shmget(0x5eed, 0, 0), "found");
  else if (IS("sem")) outcome(semget(0x5eed, 1, IPC_CREAT | 0666), "made");
  else if (IS("semfind")) outcome(semget(0x5eed, 0, 0), "found");
  else if (IS("msg")) outcome(msgget(0x5eed, IPC_CREAT | 0666), "made");
  else if (IS("msgfind")) outcome(msgget(0x5eed, 0), "found");
  else if (IS("mq")) outcome(mq_open("/left", O_CREAT | O_RDWR, 0666, NULL), "made");
  else if (IS("xattr")) outcome(setxattr(a, "user.left", "x", 1, 0), "set");
  else if (IS("xattrfind")) outcome(getxattr(a, "user.left", got, 1), "found");
  else if (IS("stay")) try_stay(a);
  else if (IS("processes")) try_processes();
  else if (IS("fork")) try_fork(n);
  else if (IS("environ")) {
    got[0] = 0;
    for (char **e = environ; *e; e++) {
      char *equals = strchr(*e, '=');
      sprintf(got + strlen(got), "%s%.*s", got[0] ? " " : "", (int)(equals - *e), *e);
    }
  } else if (IS("core")) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    outcome(setrlimit(RLIMIT_CORE, &limit), "unlimited");
  } else if (IS("files")) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    say("%d", (int)limit.rlim_cur);
  } else if (IS("path")) status_of("GET %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", a);
  else if (IS("beside")) status_of("GET /%s/ffprobe/%s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", secret, a);
  else if (IS("astool")) {
    /* Its own secret, another tool's name, and a question for values of the query. */
    status_of("GET /%s/%s/%s HTTP/1.1\r\nhost: x\r\nx-source-parameters: token,X-Amz-Signature\r\n"
              "connection: close\r\n\r\n", secret, a, b ? b : "");
  } else if (IS("loginas")) {
    char login[128];
    snprintf(login, sizeof login, "%s:%s", secret, a);
    status_of("GET %s HTTP/1.1\r\nhost: x\r\nproxy-authorization: Basic %s\r\nconnection: close\r\n\r\n",
              b ? b : "", base64(login));
  } else if (IS("proxied")) {
    char login[128];
    snprintf(login, sizeof login, "%s:ffprobe", b && *b ? b : secret);
    status_of("GET %s HTTP/1.1\r\nhost: x\r\nproxy-authorization: Basic %s\r\nconnection: close\r\n\r\n",
              a, base64(login));
  } else if (IS("tunnel")) {
    char login[128];
    snprintf(login, sizeof login, "%s:ffprobe", secret);
    status_of("CONNECT %s HTTP/1.1\r\nhost: x\r\nproxy-authorization: Basic %s\r\n\r\n", a, base64(login));
  } else if (IS("post"))
    status_of("POST /%s/ffprobe/%s HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx",
              secret, a);
  else if (IS("secret")) say("%s", secret);
  else if (IS("flood")) {
    static char block[65536];
    memset(block, ' ', sizeof block);
    for (;;) if (write(1, block, sizeof block) < 0) _exit(1);
  } else if (IS("hang")) for (;;) pause();
  else if (IS("abort")) abort();
  else if (IS("memory")) {
    for (size_t total = 0;; total += 1 << 20) {
      char *block = malloc(1 << 20);
      if (!block) { say("%zu MB", total >> 20); return; }
      memset(block, 1, 1 << 20);
    }
  } else say("no such attempt: %s", what);
}

static void quoted(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ' && (unsigned char)*text < 127) putchar(*text);
    else putchar('?');
  }
  putchar('"');
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN);
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-version")) return puts("ffprobe version " VERSION " Copyright (c) nobody"), 0;
    if (!strcmp(argv[i], "-h")) return puts("-show_format  show format"), 0;
    if (!strcmp(argv[i], "-protocols")) return puts("Input:\n  http\nOutput:\n"), 0;
    if (!strcmp(argv[i], "-i") && i + 1 < argc) address = argv[i + 1];
  }
  static char plan[1 << 20];
  const char *path = address ? strchr(address + 7, '/') : NULL;
  if (!path) return 1;
  proxy_port = atoi(strchr(address + 7, ':') + 1);
  sscanf(path, "/%32[0-9a-f]", secret);
  static char request[8192];
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", path);
  size_t size = ask(request, plan, sizeof plan);
  char *line = size ? strstr(plan, "\r\n\r\n") : NULL;
  printf("{\"codec_name\":\"pcm\",\"got\":{\"its own source\":\"%s\"", line ? "read" : "nothing");
  for (line = line ? line + 4 : NULL; line && *line;) {
    char *end = strchr(line, '\n');
    if (!end) break;
    *end = 0;
    char *name = strsep(&line, "|"), *what = strsep(&line, "|"), *a = strsep(&line, "|"), *b = strsep(&line, "|");
    if (name && what) {
      attempt(what, a ? a : "", b);
      printf(",");
      quoted(name);
      printf(":");
      quoted(got);
      fflush(stdout);
    }
    line = end + 1;
  }
  puts("}}");
  return 0;
}
