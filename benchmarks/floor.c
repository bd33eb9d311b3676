/* Do the least that any reader of skills must do: open every SKILL.md of a folder, read 4 KB, close it.
 *
 *     floor DIR      prints JSON: the skills, the bytes, and the processor seconds of the work
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    static char head[4096];
    char path[512];
    long skills = 0, bytes = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: floor DIR\n");
        return 2;
    }
    double start = processor_seconds();
    DIR *folder = opendir(argv[1]);
    if (folder == NULL) {
        perror(argv[1]);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/SKILL.md", entry->d_name);
        int file = openat(dirfd(folder), path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        ssize_t got = read(file, head, sizeof head);
        close(file);
        skills += 1;
        bytes += got > 0 ? got : 0;
    }
    closedir(folder);
    printf("{\"skills\": %ld, \"bytes\": %ld, \"work\": %.9f}\n", skills, bytes, processor_seconds() - start);
    return 0;
}
