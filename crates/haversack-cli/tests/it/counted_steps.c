/* Loaded before the C library: counts a program's steps to the files of one folder, ends the program at a
   chosen step as a power cut of the process would, and lets syncs fail while a file says so. Linux only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *folder, *sync_fails;
static size_t folder_length;
static long kill_at = -1;
static _Atomic long *steps;

__attribute__((constructor)) static void begin(void) {
    const char *counter = getenv("STEPS_COUNTER"), *at = getenv("STEPS_KILL_AT");
    folder = getenv("STEPS_FOLDER");
    sync_fails = getenv("STEPS_SYNC_FAILS");
    if (!folder || !counter) return;
    folder_length = strlen(folder);
    if (at) kill_at = atol(at);
    int file = open(counter, O_RDWR);
    if (file < 0) _exit(97);
    void *shared = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) _exit(97);
    steps = shared;
    close(file);
}

static int is_below(const char *path) { return !strncmp(path, folder, folder_length); }

static void step(void) {
    if (atomic_fetch_add(steps, 1) == kill_at) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

static void step_of_path(const char *path) {
    if (steps && is_below(path)) step();
}

static int step_of_file(int file) {
    if (!steps) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    if (!is_below(path)) return 0;
    step();
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t count) {
    step_of_file(file);
    return NEXT(write)(file, bytes, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    step_of_file(file);
    return NEXT(writev)(file, parts, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    step_of_file(file);
    return NEXT(pwrite64)(file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    step_of_file(file);
    return NEXT(pwrite)(file, bytes, count, at);
}

int ftruncate(int file, off_t length) {
    step_of_file(file);
    return NEXT(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length) {
    step_of_file(file);
    return NEXT(ftruncate64)(file, length);
}

static int may_sync(int file) {
    if (step_of_file(file) && sync_fails && !access(sync_fails, F_OK)) {
        errno = EIO;
        return 0;
    }
    return 1;
}

int fsync(int file) { return may_sync(file) ? NEXT(fsync)(file) : -1; }

int fdatasync(int file) { return may_sync(file) ? NEXT(fdatasync)(file) : -1; }

int unlink(const char *path) {
    step_of_path(path);
    return NEXT(unlink)(path);
}

int rename(const char *from, const char *to) {
    step_of_path(to);
    return NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    step_of_path(path);
    return NEXT(mkdir)(path, mode);
}
