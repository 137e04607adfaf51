/*
 * The wall around a tool, beside the container's own: a filter of system calls, put on between fork and exec.
 *
 * A tool shares the pod's network with the agent, and a NetworkPolicy is enforced on some clusters only. So a tool
 * never connects itself: each connect() is passed to the launcher. For the port of its own job's source on 127.0.0.1 it
 * gets a connection that the launcher made; nothing else is ever connected to. The address is read once, so a second
 * thread that changes it meanwhile changes nothing. Where the memory of a tool cannot be read (a strict ptrace_scope),
 * each of its connections leads to its source.
 *
 * The rest closes what a runtime's default profile leaves open and what would outlast a job or reach past it: other
 * sockets than TCP (so no DNS, no raw packets, no unix sockets), listening, System V and POSIX queues and shared memory
 * (the pod's containers have one IPC namespace), extended attributes on directories that stay, ptrace, io_uring (its
 * requests pass no filter), and limits, priority and CPUs of the launcher, which every later tool would inherit.
 *
 * Measured on two busy cores, Linux 6.18: 0.13 ms more per tool started, 0.035 ms more per connection.
 */
#define _GNU_SOURCE
#include "wall.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif

static enum { NONE, UNWATCHED, WATCHED } kind = NONE;
static int road[2] = {-1, -1};

#ifdef ARCH

static const int refused[] = {
    __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register, __NR_ptrace, __NR_process_vm_readv,
    __NR_process_vm_writev, __NR_pidfd_getfd, __NR_kcmp, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_semget, __NR_semop,
    __NR_semctl, __NR_semtimedop, __NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open, __NR_mq_unlink,
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_bind, __NR_listen, __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr,
    __NR_setxattrat, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_removexattrat,
};
/* Refused where their first argument is the launcher. */
static const int not_on_launcher[] = {__NR_prlimit64, __NR_sched_setaffinity, __NR_sched_setscheduler,
                                      __NR_sched_setparam, __NR_sched_setattr};

static struct sock_filter filter[192];
static unsigned short length;

static void op(uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
  filter[length++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}
static void load(size_t at) { op(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0); }
/* The low half of an argument: all that the kernel looks at in an int. */
static void load_argument(int index) {
  size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
  load(offsetof(struct seccomp_data, args) + 8 * (size_t)index + low);
}
static void end_with(uint32_t action) { op(BPF_RET | BPF_K, action, 0, 0); }
static void refuse(void) { end_with(SECCOMP_RET_ERRNO | EPERM); }
/* `skip` instructions follow that are for this call alone. */
static void only_for(int call, int skip) { op(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, (uint8_t)skip); }
static void refuse_with_flag(int call, int argument, uint32_t flag) {
  only_for(call, 4);
  load_argument(argument);
  op(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1);
  refuse();
  end_with(SECCOMP_RET_ALLOW);
}
/* PRIO_PROCESS and IOPRIO_WHO_PROCESS differ: groups and users would take the launcher along. */
static void one_other_process(int call, uint32_t process) {
  only_for(call, 6);
  load_argument(0);
  op(BPF_JMP | BPF_JEQ | BPF_K, process, 0, 2);
  load_argument(1);
  op(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1);
  refuse();
  end_with(SECCOMP_RET_ALLOW);
}

static void make(int watched) {
  length = 0;
  load(offsetof(struct seccomp_data, arch));
  op(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
  end_with(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(struct seccomp_data, nr));
  /* The calls of x32 have numbers of their own. */
  op(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  refuse();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    only_for(refused[i], 1);
    refuse();
  }
  for (size_t i = 0; i < sizeof not_on_launcher / sizeof *not_on_launcher; i++) {
    only_for(not_on_launcher[i], 4);
    load_argument(0);
    op(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1);
    refuse();
    end_with(SECCOMP_RET_ALLOW);
  }
  one_other_process(__NR_setpriority, 0);
  one_other_process(__NR_ioprio_set, 1);
  if (watched) {
    only_for(__NR_connect, 1);
    end_with(SECCOMP_RET_USER_NOTIF);
  }
  /* Data with the first packet is a connection without connect(). */
  refuse_with_flag(__NR_sendto, 3, MSG_FASTOPEN);
  refuse_with_flag(__NR_sendmsg, 2, MSG_FASTOPEN);
  refuse_with_flag(__NR_sendmmsg, 3, MSG_FASTOPEN);
  /* A pair is made for good: of datagrams it could still write to others. */
  only_for(__NR_socketpair, 5);
  load_argument(1);
  op(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  op(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 1, 0);
  refuse();
  end_with(SECCOMP_RET_ALLOW);
  only_for(__NR_socket, 11);
  load_argument(0);
  op(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
  op(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 6);
  load_argument(1);
  op(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  op(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 0, 3);
  load_argument(2);
  op(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
  op(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0);
  end_with(SECCOMP_RET_ERRNO | EACCES);
  end_with(SECCOMP_RET_ALLOW);
  end_with(SECCOMP_RET_ALLOW);
}

static int install(uint32_t flags) {
  struct sock_fprog program = {.len = length, .filter = filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int hand_over(int fd) {
  union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
  char one = 1;
  struct iovec bytes = {&one, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(part), &fd, sizeof fd);
  return sendmsg(road[1], &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : errno;
}

int wall_enter(void) {
  if (kind == NONE) return 0;
  int listener = install(kind == WATCHED ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0);
  if (listener < 0) return errno;
  return kind == WATCHED ? hand_over(listener) : 0;
}

int wall_take(void) {
  if (kind != WATCHED) return -1;
  union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control;
  char one;
  struct iovec bytes = {&one, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (recvmsg(road[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return -1;
  struct cmsghdr *part = CMSG_FIRSTHDR(&message);
  if (!part || part->cmsg_type != SCM_RIGHTS) return -1;
  int fd;
  memcpy(&fd, CMSG_DATA(part), sizeof fd);
  return fd;
}

/* ------------------------------------------------------- connections */

static void reply(int listener, uint64_t id, int error) {
  struct seccomp_notif_resp answer = {.id = id, .error = -error};
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* whoever asked may be gone */
}

/* Takes the place of the tool's own socket, with the same flags. */
static int give(int listener, uint64_t id, int fd, int flags, int given) {
  if (!(flags & O_NONBLOCK)) fcntl(given, F_SETFL, fcntl(given, F_GETFL) & ~O_NONBLOCK);
  struct seccomp_notif_addfd place = {.id = id,
                                      .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                      .srcfd = (uint32_t)given,
                                      .newfd = (uint32_t)fd,
                                      .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &place) < 0 ? errno : 0;
}

/* The flags of a descriptor in a tool; -1: there is none, or it does not let itself be looked at. */
static int flags_of(uint32_t pid, int fd) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%u/fdinfo/%d", pid, fd);
  int info = open(path, O_RDONLY | O_CLOEXEC);
  if (info < 0) return -1;
  ssize_t got = read(info, text, sizeof text - 1);
  close(info);
  if (got <= 0) return -1;
  text[got] = 0;
  char *at = strstr(text, "flags:");
  return at ? (int)strtol(at + 6, NULL, 8) : -1;
}

static int is_port(uint32_t ports, uint16_t port) { return port && (port == ports >> 16 || port == (ports & 0xffff)); }

/* The port of 127.0.0.1 that is asked for, where it is one of these; 0 where not. */
static uint16_t asked_port(uint32_t pid, uint64_t where, uint64_t size, uint32_t ports) {
  union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; } address = {0};
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/mem", pid);
  int memory = open(path, O_RDONLY | O_CLOEXEC);
  if (memory < 0) return (uint16_t)(ports >> 16);
  if (size > sizeof address) size = sizeof address;
  ssize_t got = pread(memory, &address, size, (off_t)where);
  close(memory);
  uint16_t port = 0;
  if (got >= (ssize_t)sizeof address.v4 && address.any.sa_family == AF_INET &&
      address.v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK))
    port = ntohs(address.v4.sin_port);
  if (got >= (ssize_t)sizeof address.v6 && address.any.sa_family == AF_INET6 &&
      IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr) && !memcmp(&address.v6.sin6_addr.s6_addr[12], "\x7f\0\0\1", 4))
    port = ntohs(address.v6.sin6_port);
  return is_port(ports, port) ? port : 0;
}

int wall_answer(int listener, uint32_t ports) {
  struct seccomp_notif asked;
  memset(&asked, 0, sizeof asked);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0) return errno == ENOENT || errno == EINTR;
  int fd = (int)asked.data.args[0];
  uint16_t port = asked_port(asked.pid, asked.data.args[1], (uint32_t)asked.data.args[2], ports);
  int flags = port ? flags_of(asked.pid, fd) : -1;
  if (!port || flags < 0) return reply(listener, asked.id, EACCES), 1;
  int given = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_in proxy = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int error = given < 0 || connect(given, (struct sockaddr *)&proxy, sizeof proxy) < 0 ? errno : 0;
  int on = 1;
  if (given >= 0) setsockopt(given, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (error == 0 || error == EINPROGRESS) {
    int failed = give(listener, asked.id, fd, flags, given);
    if (failed) error = failed;
    /* One that waits does so at its first write. */
    else if (!(flags & O_NONBLOCK)) error = 0;
  }
  if (given >= 0) close(given);
  reply(listener, asked.id, error);
  return 1;
}

/* ----------------------------------------------------------- at start */

/* Whether a child under the wall starts, and is given a socket for the one it has. */
static int works(void) {
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) return 0;
  if (pid == 0) {
    /* It would wait for the answer of a launcher that is gone for ever. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    /* As an exec makes a tool, so that its descriptors can be looked at. No tool is there yet. */
    prctl(PR_SET_DUMPABLE, 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || wall_enter() != 0) _exit(1);
    if (kind != WATCHED) _exit(0);
    struct sockaddr_in nowhere = {.sin_family = AF_INET};
    _exit(connect(fd, (struct sockaddr *)&nowhere, sizeof nowhere) == 0 ? 0 : 1);
  }
  int status = 1, listener = -1;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (kind == WATCHED && listener < 0) listener = wall_take();
    struct seccomp_notif asked;
    memset(&asked, 0, sizeof asked);
    struct pollfd polled = {.fd = listener, .events = POLLIN};
    if (poll(&polled, 1, 1) > 0 && (polled.revents & POLLIN) &&
        ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) {
      int given = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      int flags = flags_of(asked.pid, (int)asked.data.args[0]);
      int failed = flags < 0 ? EACCES : give(listener, asked.id, (int)asked.data.args[0], flags, given);
      close(given);
      reply(listener, asked.id, failed);
    }
  }
  if (listener < 0) listener = wall_take();
  if (listener >= 0) close(listener);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void wall_prepare(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, road) == 0) {
    kind = WATCHED;
    make(1);
    if (works()) return;
  }
  kind = UNWATCHED;
  make(0);
  if (!works()) kind = NONE;
  fprintf(stderr, "launcher: %s here: what tools connect to is held by the NetworkPolicy alone\n",
          kind == NONE ? "system calls cannot be filtered" : "connections cannot be watched");
}

uint32_t wall_kind(void) { return kind == WATCHED ? 3 : kind == UNWATCHED ? 2 : 1; }

#else

uint32_t wall_kind(void) { return 1; }
int wall_enter(void) { return 0; }
int wall_take(void) { return -1; }
int wall_answer(int listener, uint32_t ports) { return (void)listener, (void)ports, 0; }
void wall_prepare(void) {
  fprintf(stderr, "launcher: no filter of system calls for this architecture: "
                  "what tools connect to is held by the NetworkPolicy alone\n");
}

#endif
