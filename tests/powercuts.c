/* Records what a process writes and syncs in a folder, or gives it little room. To be loaded with LD_PRELOAD.

   HLMC_FOLDER  the folder, with a slash at its end
   HLMC_LOG     the record: for each call a header of five 64-bit numbers (kind, file, offset, length, bytes that follow)
                and, of a write, the bytes; of an open, the name
   HLMC_ROOM    instead of a record: writes fail with ENOSPC after so many bytes

   Kinds: 1 open of a file (the file's number is new), 2 write, 3 truncate, 4 sync, 5 unlink, 6 sync of the folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 4096
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t number_of[MOST]; /* 0: none of ours, -1: the folder itself */
static int64_t files;
static int record = -1;
static int64_t room = -1;
static const char *folder;

#define REAL(type, name, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static void put(const void *bytes, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    while (length > 0) {
        ssize_t done = real(record, bytes, length);
        if (done <= 0) abort();
        bytes = (const char *)bytes + done;
        length -= done;
    }
}

static void note(int64_t kind, int64_t file, int64_t offset, int64_t length, const void *bytes, int64_t follow) {
    if (record < 0) return;
    int64_t header[5] = {kind, file, offset, length, follow};
    pthread_mutex_lock(&lock);
    put(header, sizeof header);
    if (follow) put(bytes, follow);
    pthread_mutex_unlock(&lock);
}

static void opened(const char *name, int fd) {
    REAL(int, open, const char *, int, ...);
    if (!folder) {
        folder = getenv("HLMC_FOLDER");
        if (!folder) return;
        if (getenv("HLMC_ROOM")) room = atoll(getenv("HLMC_ROOM"));
        if (getenv("HLMC_LOG")) record = real(getenv("HLMC_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
    if (fd < 0 || fd >= MOST) return;
    size_t length = strlen(folder);
    number_of[fd] = 0;
    if (!strncmp(name, folder, length - 1) && (!name[length - 1] || !name[length])) number_of[fd] = -1;
    else if (!strncmp(name, folder, length)) {
        number_of[fd] = ++files;
        note(1, files, 0, 0, name + length, strlen(name + length));
    }
}

static int64_t ours(int fd) { return fd >= 0 && fd < MOST ? number_of[fd] : 0; }

static int full(int fd, size_t length) {
    if (ours(fd) <= 0 || room < 0) return 0;
    room -= (int64_t)length < room ? (int64_t)length : room;
    if (room == 0) errno = ENOSPC;
    return room == 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        REAL(int, name, const char *, int, ...);                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        int fd = real(path, flags, va_arg(rest, int));                                                                 \
        va_end(rest);                                                                                                  \
        opened(path, fd);                                                                                              \
        return fd;                                                                                                     \
    }
OPEN(open)
OPEN(open64)

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int fd, const void *bytes, size_t length, offset_type offset) {                                       \
        REAL(ssize_t, name, int, const void *, size_t, offset_type);                                                   \
        if (full(fd, length)) return -1;                                                                               \
        ssize_t done = real(fd, bytes, length, offset);                                                                \
        if (ours(fd) > 0 && done > 0) note(2, ours(fd), offset, done, bytes, done);                                    \
        return done;                                                                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (full(fd, length)) return -1;
    ssize_t done = real(fd, bytes, length);
    if (ours(fd) > 0 && done > 0) note(2, ours(fd), lseek(fd, 0, SEEK_CUR) - done, done, bytes, done);
    return done;
}

#define TRUNCATE(name, offset_type)                                                                                    \
    int name(int fd, offset_type length) {                                                                             \
        REAL(int, name, int, offset_type);                                                                             \
        int status = real(fd, length);                                                                                 \
        if (ours(fd) > 0 && status == 0) note(3, ours(fd), 0, length, 0, 0);                                           \
        return status;                                                                                                 \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                                                                     \
    int name(int fd) {                                                                                                 \
        REAL(int, name, int);                                                                                          \
        if (ours(fd)) note(ours(fd) > 0 ? 4 : 6, ours(fd), 0, 0, 0, 0);                                                \
        return ours(fd) ? 0 : real(fd);                                                                                \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    int status = real(path);
    if (folder && status == 0 && !strncmp(path, folder, strlen(folder)))
        note(5, 0, 0, 0, path + strlen(folder), strlen(path + strlen(folder)));
    return status;
}

int close(int fd) {
    REAL(int, close, int);
    if (fd >= 0 && fd < MOST) number_of[fd] = 0;
    return real(fd);
}
