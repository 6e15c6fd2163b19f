"""Operations on the way from one file to another: arguments of ``keyframer convert``, applied in a fixed order."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from keyframer.scene import Scene

AXES = {
    "y-up": ("y", "right"),
    "z-up": ("z", "right"),
    "x-up": ("x", "right"),
    "y-up-left": ("y", "left"),
    "z-up-left": ("z", "left"),
    "x-up-left": ("x", "left"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on the way (in this order)")
    group.add_argument("--merge", metavar="FILE", help="move the model or skeleton of this file, by names of nodes")
    group.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME",
        help="just this node and what hangs on it (* and ? match)",
    )
    group.add_argument("--cut", metavar="A:B", help="frames A to B, which become 0 to B - A")
    group.add_argument("--reverse", action="store_true", help="play it backwards")
    group.add_argument(
        "--rate", type=float, metavar="N", help="count N frames a second; the motion takes the same time"
    )
    group.add_argument("--scale", type=float, metavar="X", help="all lengths times X")
    group.add_argument("--axes", choices=sorted(AXES), help="another way up, right-handed unless it says left")


def cut_of(options: argparse.Namespace) -> tuple[float, float] | None:
    """The frames of ``--cut``; ValueError where they are none."""
    if options.cut is None:
        return None
    first, mark, last = options.cut.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(first), float(last)
    except ValueError:
        raise ValueError(f"--cut wants two frames, A:B, not {options.cut!r}") from None


def apply(scene: Scene, options: argparse.Namespace, fps: float | None) -> Scene:
    """The scene after everything that was asked for. ``fps`` is how many of its own frames make a second."""
    from dataclasses import replace

    import keyframer.operating as operating

    if fps is not None and scene.clips:
        clip = scene.clips[0]
        scene = replace(scene, clips=[replace(clip, rate=fps * (clip.units_per_frame or 1.0)), *scene.clips[1:]])
    allowed = {} if options.max_error is None else {"max_error": options.max_error}
    if options.merge is not None:
        from keyframer.exchange.loading import load

        scene = operating.merge(scene, load(options.merge))
    if options.node:
        try:
            scene = operating.choose_nodes(scene, options.node)
        except LookupError as error:
            raise ValueError(str(error.args[0])) from None
    stretch = cut_of(options)
    if stretch is not None:
        scene = operating.cut(scene, *stretch, **allowed)
    if options.reverse:
        scene = operating.reverse(scene, **allowed)
    if options.rate is not None:
        scene = operating.change_rate(scene, options.rate)
    if options.scale is not None:
        scene = operating.scale(scene, options.scale)
    if options.axes is not None:
        up, handedness = AXES[options.axes]
        scene = operating.change_axes(scene, up=up, handedness=handedness)
    return scene
