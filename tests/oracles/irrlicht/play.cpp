// The meshes that Irrlicht shows at given frames, for the league: play FILE FRAME...
//
// Prints for each frame the number of vertices and their positions, one on a line. Irrlicht counts the frames of a
// Blitz3D file from 1 (CB3DMeshFileLoader subtracts 1 from the frame of each key), so FRAME is a frame of Irrlicht.
// After the last frame it stands still, like a scene node that does not loop.
#include <cstdio>
#include <cstdlib>
#include <irrlicht/irrlicht.h>

using namespace irr;

int main(int count, char **words) {
  SIrrlichtCreationParameters silent;
  silent.DriverType = video::EDT_NULL;
  silent.LoggingLevel = ELL_NONE;
  IrrlichtDevice *device = createDeviceEx(silent);
  scene::IAnimatedMesh *mesh = device ? device->getSceneManager()->getMesh(words[1]) : 0;
  if (!mesh) {
    fprintf(stderr, "Irrlicht does not read the file\n");
    return 1;
  }
  for (int word = 2; word < count; word++) {
    scene::IMesh *shown = mesh->getMesh(0);
    if (mesh->getMeshType() == scene::EAMT_SKINNED) {
      scene::ISkinnedMesh *skinned = static_cast<scene::ISkinnedMesh *>(mesh);
      skinned->animateMesh(core::min_(f32(atof(words[word])), f32(mesh->getFrameCount())), 1.0f);
      skinned->skinMesh();
      shown = skinned;
    }
    u32 vertices = 0;
    for (u32 number = 0; number < shown->getMeshBufferCount(); number++)
      vertices += shown->getMeshBuffer(number)->getVertexCount();
    printf("%u\n", vertices);
    for (u32 number = 0; number < shown->getMeshBufferCount(); number++) {
      scene::IMeshBuffer *buffer = shown->getMeshBuffer(number);
      core::matrix4 placed;
      if (mesh->getMeshType() == scene::EAMT_SKINNED)
        placed = static_cast<scene::SSkinMeshBuffer *>(buffer)->Transformation;
      for (u32 vertex = 0; vertex < buffer->getVertexCount(); vertex++) {
        core::vector3df at = buffer->getPosition(vertex);
        placed.transformVect(at);
        printf("%.9g %.9g %.9g\n", at.X, at.Y, at.Z);
      }
    }
  }
  return 0;
}
