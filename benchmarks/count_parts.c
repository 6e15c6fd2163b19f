/* How many meshes with faces, nodes and keys assimp or lib3ds reads from a 3D Studio file.
 *
 *   count_parts assimp FILE    prints three numbers; ends with 3 if the file is refused
 *   count_parts lib3ds FILE
 */
#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <lib3ds/file.h>
#include <lib3ds/mesh.h>
#include <lib3ds/node.h>
#include <stdio.h>
#include <string.h>

static unsigned long meshes, nodes, keys;

static void count_assimp_nodes(const struct aiNode *node) {
    nodes++;
    for (unsigned child = 0; child < node->mNumChildren; child++) count_assimp_nodes(node->mChildren[child]);
}

static int count_assimp(const char *name) {
    const struct aiScene *scene = aiImportFile(name, 0);
    if (!scene) return 3;
    for (unsigned mesh = 0; mesh < scene->mNumMeshes; mesh++) meshes += scene->mMeshes[mesh]->mNumFaces > 0;
    if (scene->mRootNode) {
        count_assimp_nodes(scene->mRootNode);
        nodes--; /* assimp adds the root */
    }
    for (unsigned index = 0; index < scene->mNumAnimations; index++)
        for (unsigned channel = 0; channel < scene->mAnimations[index]->mNumChannels; channel++) {
            const struct aiNodeAnim *track = scene->mAnimations[index]->mChannels[channel];
            keys += track->mNumPositionKeys + track->mNumRotationKeys + track->mNumScalingKeys;
        }
    return 0;
}

#define COUNT(type, track) for (type *key = (track).keyL; key; key = (type *)key->next) keys++

static void count_lib3ds_nodes(const Lib3dsNode *node) {
    for (; node; node = node->next) {
        nodes++;
        if (node->type == LIB3DS_OBJECT_NODE) {
            COUNT(Lib3dsLin3Key, node->data.object.pos_track);
            COUNT(Lib3dsQuatKey, node->data.object.rot_track);
            COUNT(Lib3dsLin3Key, node->data.object.scl_track);
        } else if (node->type == LIB3DS_CAMERA_NODE) {
            COUNT(Lib3dsLin3Key, node->data.camera.pos_track);
            COUNT(Lib3dsLin1Key, node->data.camera.fov_track);
            COUNT(Lib3dsLin1Key, node->data.camera.roll_track);
        } else if (node->type == LIB3DS_TARGET_NODE) {
            COUNT(Lib3dsLin3Key, node->data.target.pos_track);
        } else if (node->type == LIB3DS_LIGHT_NODE) {
            COUNT(Lib3dsLin3Key, node->data.light.pos_track);
            COUNT(Lib3dsLin3Key, node->data.light.col_track);
        } else if (node->type == LIB3DS_SPOT_NODE) {
            COUNT(Lib3dsLin3Key, node->data.spot.pos_track);
        }
        count_lib3ds_nodes(node->childs);
    }
}

static int count_lib3ds(const char *name) {
    Lib3dsFile *file = lib3ds_file_load(name);
    if (!file) return 3;
    for (Lib3dsMesh *mesh = file->meshes; mesh; mesh = mesh->next) meshes += mesh->faces > 0;
    count_lib3ds_nodes(file->nodes);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int code = strcmp(argv[1], "assimp") ? count_lib3ds(argv[2]) : count_assimp(argv[2]);
    if (!code) printf("%lu %lu %lu\n", meshes, nodes, keys);
    return code;
}
