/* Preloaded into a process: counts the calls that open, write, sync, close, link, rename, remove or make files below a
   folder, in this process and those it starts, and lets the n-th of them fail or kill. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { COUNT, FAIL, KILL, KILL_ALL };
enum { OPENED, WRITTEN, SYNCED, CLOSED, LINKED, RENAMED, REMOVED, OTHERWISE };
enum { MOST = 1 << 16 };

static char root[4096];
static char skipped[64]; /* paths that hold this are not looked at */
static long at;
static int mode;
static long *counter; /* calls so far, and a bit for each kind of them */
static char watched[MOST];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* at_call 0 only counts; the counter is shared with all processes that map the same file */
void fault_arm(const char *folder, const char *skip, long at_call, int what, const char *counter_file) {
    int file = REAL(open)(counter_file, O_RDWR);
    strncpy(root, folder, sizeof root - 1);
    strncpy(skipped, skip, sizeof skipped - 1);
    at = at_call;
    mode = what;
    counter = mmap(NULL, 2 * sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REAL(close)(file);
    if (counter == MAP_FAILED) abort();
}

__attribute__((constructor)) static void arm_from_environment(void) {
    if (getenv("FAULT_ROOT"))
        fault_arm(getenv("FAULT_ROOT"), getenv("FAULT_SKIP"), atol(getenv("FAULT_AT")), atoi(getenv("FAULT_MODE")),
                  getenv("FAULT_COUNTER"));
}

static int below(const char *path) {
    if (!counter || !path || strncmp(path, root, strlen(root))) return 0;
    return !*skipped || !strstr(path, skipped);
}
static int is_watched(int fd) { return counter && fd >= 0 && fd < MOST && watched[fd]; }
static void watch(int fd, int yes) { if (fd >= 0 && fd < MOST) watched[fd] = (char)yes; }

/* whether this call is to fail */
static int hit(int kind) {
    __atomic_or_fetch(counter + 1, 1L << kind, __ATOMIC_SEQ_CST);
    long now = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (now != at) return 0;
    if (mode == KILL) kill(getpid(), SIGKILL);
    if (mode == KILL_ALL) {
        if (getenv("FAULT_LEADER")) kill(atoi(getenv("FAULT_LEADER")), SIGKILL); /* workers have a group of their own */
        kill(0, SIGKILL);
    }
    errno = EIO;
    return mode == FAIL;
}

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...) {                              \
        va_list more; va_start(more, flags); mode_t bits = va_arg(more, mode_t); va_end(more); \
        if (below(path) && hit(OPENED)) return -1;                                 \
        int fd = REAL(name)(path, flags, bits);                               \
        watch(fd, below(path));                                               \
        return fd;                                                            \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                          \
    int name(int folder, const char *path, int flags, ...) {                  \
        va_list more; va_start(more, flags); mode_t bits = va_arg(more, mode_t); va_end(more); \
        if (below(path) && hit(OPENED)) return -1;                                 \
        int fd = REAL(name)(folder, path, flags, bits);                       \
        watch(fd, below(path));                                               \
        return fd;                                                            \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    int failed = is_watched(fd) && hit(CLOSED);
    watch(fd, 0);
    int result = REAL(close)(fd);
    if (failed) errno = EIO;
    return failed ? -1 : result;
}

ssize_t write(int fd, const void *data, size_t size) {
    if (is_watched(fd) && hit(WRITTEN)) { errno = ENOSPC; return -1; }
    return REAL(write)(fd, data, size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
    if (is_watched(fd) && hit(WRITTEN)) { errno = ENOSPC; return -1; }
    return REAL(pwrite64)(fd, data, size, place);
}

#define ON_FILE(name, kind, parameters, arguments)                            \
    int name parameters { return is_watched(fd) && hit(kind) ? -1 : REAL(name) arguments; }
ON_FILE(fsync, SYNCED, (int fd), (fd))
ON_FILE(fdatasync, SYNCED, (int fd), (fd))
ON_FILE(fchmod, OTHERWISE, (int fd, mode_t bits), (fd, bits))
ON_FILE(fchown, OTHERWISE, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FILE(ftruncate64, OTHERWISE, (int fd, off64_t size), (fd, size))

#define ON_PATH(name, kind, parameters, path, arguments)                      \
    int name parameters { return below(path) && hit(kind) ? -1 : REAL(name) arguments; }
ON_PATH(link, LINKED, (const char *from, const char *to), to, (from, to))
ON_PATH(linkat, LINKED, (int a, const char *from, int b, const char *to, int flags), to, (a, from, b, to, flags))
ON_PATH(rename, RENAMED, (const char *from, const char *to), to, (from, to))
ON_PATH(renameat, RENAMED, (int a, const char *from, int b, const char *to), to, (a, from, b, to))
ON_PATH(unlink, REMOVED, (const char *path), path, (path))
ON_PATH(unlinkat, REMOVED, (int a, const char *path, int flags), path, (a, path, flags))
ON_PATH(mkdir, OTHERWISE, (const char *path, mode_t bits), path, (path, bits))
