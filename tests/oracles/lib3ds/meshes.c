/* What lib3ds 1.3 finds of the meshes of a file, for tests. It shares no code with the project.
 *
 *   meshes FILE    prints for each mesh: name, vertices, faces, lower corner, upper corner of the stored vertices
 */
#include <lib3ds/file.h>
#include <lib3ds/mesh.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    Lib3dsFile *file = lib3ds_file_load(argv[1]);
    if (!file) return 3;
    for (Lib3dsMesh *mesh = file->meshes; mesh; mesh = mesh->next) {
        float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f};
        for (unsigned i = 0; i < mesh->points; i++)
            for (int axis = 0; axis < 3; axis++) {
                float value = mesh->pointL[i].pos[axis];
                if (value < low[axis]) low[axis] = value;
                if (value > high[axis]) high[axis] = value;
            }
        printf("%s\t%u\t%u", mesh->name, mesh->points, mesh->faces);
        for (int axis = 0; axis < 3; axis++) printf("\t%.9g", low[axis]);
        for (int axis = 0; axis < 3; axis++) printf("\t%.9g", high[axis]);
        putchar('\n');
    }
    return 0;
}
