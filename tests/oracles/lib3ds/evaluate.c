/* What lib3ds 1.3 makes of the nodes of a file, for tests and benchmarks. It shares no code with the project.
 *
 *   evaluate pose FILE         reads frames from standard input, one a line; prints for each frame and node:
 *                              frame type id parent 16 numbers (row by row, column vectors)
 *   evaluate time FILE A B N   evaluates all whole frames A..B, N times; prints the seconds of the best round
 */
#include <lib3ds/file.h>
#include <lib3ds/matrix.h>
#include <lib3ds/node.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_nodes(Lib3dsNode *node, const char *frame) {
    for (; node; node = node->next) {
        printf("%s\t%d\t%u\t%d", frame, (int)node->type, node->node_id, node->parent ? (int)node->parent->node_id : -1);
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++) printf("\t%.9g", node->matrix[column][row]);
        putchar('\n');
        print_nodes(node->childs, frame);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    Lib3dsFile *file = lib3ds_file_load(argv[2]);
    if (!file) {
        fputs("lib3ds refuses the file\n", stderr);
        return 3;
    }
    if (!strcmp(argv[1], "pose")) {
        char line[64];
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\n")] = 0;
            lib3ds_file_eval(file, (float)atof(line));
            print_nodes(file->nodes, line);
        }
        return 0;
    }
    if (strcmp(argv[1], "time") || argc != 6) return 2;
    double best = 1e9;
    for (int round = atoi(argv[5]); round > 0; round--) {
        double begin = now();
        for (long frame = atol(argv[3]); frame <= atol(argv[4]); frame++) lib3ds_file_eval(file, (float)frame);
        double took = now() - begin;
        if (took < best) best = took;
    }
    printf("%.9f\n", best);
    return 0;
}
