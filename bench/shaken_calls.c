// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
/* Loaded into a process (LD_PRELOAD), it delays system calls at random: those by which processes
 * meet in the file system, in sockets and in signals. Each delay lies where the scheduler, or a slow
 * disk, may put one, too: what goes wrong under it can go wrong without it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

/* Sleep in so many of 1000 cases, evenly distributed up to a limit. */
static void delay(unsigned per_mille, unsigned limit_ms) {
  if (!state) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    state = (uint64_t)now.tv_nsec * 2654435761u ^ ((uint64_t)getpid() << 32) ^ 88172645463325252ull;
  }
  /* xorshift64; threads may draw the same number, which does not matter here */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  uint64_t drawn = state >> 11;
  if (drawn % 1000 >= per_mille) return;
  struct timespec pause = {0, (long)(drawn / 1000 % (limit_ms * 1000000ull))};
  int error = errno;
  nanosleep(&pause, NULL);
  errno = error;
}

#define NEXT(name) \
  static __typeof__(&name) next; \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* A call with a delay before and after it. */
#define DELAYED(kind, name, signature, arguments, before, after, limit_ms) \
  kind name signature {                                                    \
    NEXT(name);                                                            \
    delay(before, limit_ms);                                               \
    kind result = next arguments;                                          \
    delay(after, limit_ms);                                                \
    return result;                                                         \
  }

DELAYED(int, rename, (const char *from, const char *to), (from, to), 300, 300, 60)
DELAYED(int, unlink, (const char *path), (path), 200, 0, 40)
DELAYED(int, mkdir, (const char *path, mode_t mode), (path, mode), 200, 200, 40)
DELAYED(int, flock, (int file, int operation), (file, operation), 300, 300, 60)
DELAYED(int, ftruncate, (int file, off_t size), (file, size), 300, 300, 60)
DELAYED(ssize_t, pwrite, (int file, const void *data, size_t size, off_t offset),
        (file, data, size, offset), 100, 0, 40)
DELAYED(int, bind, (int file, const struct sockaddr *address, socklen_t size),
        (file, address, size), 200, 200, 60)
DELAYED(int, listen, (int file, int backlog), (file, backlog), 200, 0, 60)
DELAYED(int, connect, (int file, const struct sockaddr *address, socklen_t size),
        (file, address, size), 200, 100, 60)
DELAYED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags),
        (file, message, flags), 2, 0, 20)
DELAYED(ssize_t, send, (int file, const void *data, size_t size, int flags),
        (file, data, size, flags), 2, 0, 20)
DELAYED(ssize_t, recv, (int file, void *data, size_t size, int flags),
        (file, data, size, flags), 2, 0, 20)
DELAYED(int, close, (int file), (file), 4, 0, 20)
DELAYED(int, kill, (pid_t process, int number), (process, number), 300, 300, 80)
DELAYED(pid_t, waitpid, (pid_t process, int *status, int options), (process, status, options), 50,
        0, 20)
DELAYED(int, execve, (const char *path, char *const arguments[], char *const environment[]),
        (path, arguments, environment), 300, 0, 80)

int open64(const char *path, int flags, ...) {
  NEXT(open64);
  mode_t mode = 0;
  if (flags & (O_CREAT | __O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  int writes = flags & (O_WRONLY | O_RDWR);
  if (writes) delay(100, 40);
  int result = next(path, flags, mode);
  if (writes) delay(100, 40);
  return result;
}

__attribute__((constructor)) static void begin(void) { delay(500, 200); }
