/* Loads files with lib3ds 1.3, for bench_3ds_corpus.py. Paths are read from standard input, one per line.
 *
 *   lib3ds_loop probe      prints "ok", "refused" or "died" for each file; every load runs in a separate process
 *   lib3ds_loop time N     loads and frees all files N times in this process; prints the seconds of the best round
 */
#include <lib3ds/file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **paths;
static size_t count;

static void read_paths(void) {
    char line[4096];
    size_t room = 0;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (count == room) paths = realloc(paths, (room = room ? 2 * room : 64) * sizeof *paths);
        paths[count++] = strdup(line);
    }
}

static int load(const char *path) {
    Lib3dsFile *file = lib3ds_file_load(path);
    if (!file) return 0;
    lib3ds_file_free(file);
    return 1;
}

static void probe(const char *path) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(load(path) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    puts(!WIFEXITED(status) ? "died" : WEXITSTATUS(status) ? "refused" : "ok");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    read_paths();
    if (argc == 2 && !strcmp(argv[1], "probe")) {
        for (size_t i = 0; i < count; i++) probe(paths[i]);
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "time")) return 2;
    double best = 1e9;
    for (int round = atoi(argv[2]); round > 0; round--) {
        double begin = now();
        for (size_t i = 0; i < count; i++) load(paths[i]);
        double took = now() - begin;
        if (took < best) best = took;
    }
    printf("%.9f\n", best);
    return 0;
}
