"""What OpenUSD makes of a file: its stage, validation, and places of nodes, vertices and cameras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdSkel, UsdValidation

from keyframer.arrays import Floats


def validated(path: Path) -> list[str]:
    """Return what the validators of OpenUSD find."""
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(path)))
    return [f"{error.GetName()}: {error.GetMessage()}" for error in errors]


def original_name(prim: Any) -> str:
    """Return the name of the part of the scene that a prim was made of."""
    named = prim.GetCustomDataByKey("keyframer:name")
    return str(prim.GetName() if named is None else named)


def nodes_of(stage: Any) -> dict[str, Any]:
    """Return the prims of nodes by the names of these."""
    root = stage.GetDefaultPrim()
    prims = [prim for prim in stage.Traverse() if prim.GetTypeName() == "Xform" and prim != root]
    return {original_name(prim): prim for prim in prims}


def parts_of(prim: Any, kind: str) -> list[Any]:
    return [child for child in prim.GetChildren() if child.GetTypeName() == kind]


def world(prim: Any, code: float) -> Floats:
    """Return the matrix of a prim in the space of the stage, for column vectors."""
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code)).T


def points(prim: Any, code: float) -> Floats:
    """Return the vertices of a mesh in the space of the stage, skinned and with its blend shapes."""
    mesh = UsdGeom.Mesh(prim)
    found = np.array(mesh.GetPointsAttr().Get(code), np.float64)
    matrix = world(prim, code)
    if UsdSkel.BindingAPI(prim).GetSkeletonRel().GetTargets():
        cache = UsdSkel.Cache()
        root = UsdSkel.Root.Find(prim)
        cache.Populate(root, Usd.TraverseInstanceProxies())
        skin = cache.GetSkinningQuery(prim)
        (skeleton,) = UsdSkel.BindingAPI(prim).GetSkeletonRel().GetTargets()
        query = cache.GetSkelQuery(UsdSkel.Skeleton(prim.GetStage().GetPrimAtPath(skeleton)))
        if skin.HasBlendShapes():
            found = _with_shapes(prim, skin, query, found, code)
        if skin.HasJointInfluences():
            moved = [Gf.Vec3f(*map(float, point)) for point in found]
            transforms = query.ComputeSkinningTransforms(code)
            from pxr import Vt

            array = Vt.Vec3fArray(moved)
            assert skin.ComputeSkinnedPoints(transforms, array, code)
            found = np.array(array, np.float64)
            matrix = world(query.GetPrim(), code)
    return found @ matrix[:3, :3].T + matrix[:3, 3]


def _with_shapes(prim: Any, skin: Any, query: Any, found: Floats, code: float) -> Floats:
    weights = query.GetAnimQuery().ComputeBlendShapeWeights(code)
    mapper = skin.GetBlendShapeMapper()
    own = np.array(mapper.Remap(weights)) if mapper is not None and not mapper.IsIdentity() else np.array(weights)
    targets = UsdSkel.BindingAPI(prim).GetBlendShapeTargetsRel().GetTargets()
    found = found.copy()
    for target, weight in zip(targets, own, strict=True):
        shape = UsdSkel.BlendShape(prim.GetStage().GetPrimAtPath(target))
        indices, offsets = np.array(shape.GetPointIndicesAttr().Get()), np.array(shape.GetOffsetsAttr().Get())
        if len(indices):
            found[indices] += weight * offsets
    return found
