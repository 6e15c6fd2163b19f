"""The 3D editor chunk and its settings: background, shadows, fog, views."""

from __future__ import annotations

from keyframer.formats.threeds.chunk import Chunk, chunk, declare_opaque
from keyframer.wire.field_types import chars, f32, i16, strz, u16, u32, vector
from keyframer.wire.record import record

_EDITOR = (0x3D3D,)


@chunk(0x3D3D, parents=(0x4D4D, 0xC23D))
class Editor(Chunk):
    """3D editor chunk (MDATA); also accepted as the top of a file."""


@chunk(0x3D3E, parents=_EDITOR)
class MeshVersion(Chunk):
    """Mesh version (MESH_VERSION)."""

    version: int = u32("2 or 3 in real files", default=3)


@chunk(0x0100, parents=_EDITOR)
class MasterScale(Chunk):
    """One unit (MASTER_SCALE)."""

    scale: float = f32("inches per unit: 1, 0.03937 (mm), 0.3937 (cm), 39.37 (m); 0 means 1", default=1.0)


@chunk(0x1100, parents=_EDITOR)
class BackgroundBitmap(Chunk):
    """Background bitmap (BIT_MAP), present even if not used."""

    name: bytes = strz("name of the background bitmap")


@chunk(0x1101, parents=_EDITOR)
class UseBackgroundBitmap(Chunk):
    """Use background bitmap: present if 1100 is used."""


@chunk(0x1200, parents=_EDITOR)
class BackgroundColor(Chunk):
    """Background color (SOLID_BGND), present even if not used: colour sub-chunks."""


@chunk(0x1201, parents=_EDITOR)
class UseBackgroundColor(Chunk):
    """Use background color: present if 1200 is used."""


@chunk(0x1300, parents=_EDITOR)
class BackgroundGradient(Chunk):
    """Background gradient colors (V_GRADIENT): three times a colour and its gamma corrected copy."""

    # Sources disagree on the order: 3ds Max's importer reads bottom, middle, top; Autodesk's toolkit reads the reverse.
    midpoint: float = f32("position of the middle color, 0.0 to 1.0")


@chunk(0x1301, parents=_EDITOR)
class UseBackgroundGradient(Chunk):
    """Use background gradient colors: present if 1300 is used."""


@chunk(0x1400, parents=_EDITOR)
class ShadowBiasLow(Chunk):
    """Shadow map bias (LO_SHADOW_BIAS)."""

    bias: float = f32("shadow map bias")


@chunk(0x1410, parents=_EDITOR)
class ShadowBiasHigh(Chunk):
    """Upper shadow map bias (HI_SHADOW_BIAS)."""

    bias: float = f32("shadow map bias")


@chunk(0x1420, parents=_EDITOR)
class ShadowMapSize(Chunk):
    """Shadow map size (SHADOW_MAP_SIZE)."""

    size: int = i16("shadow map size")


@chunk(0x1430, parents=_EDITOR)
class ShadowSamples(Chunk):
    """Shadow map samples (SHADOW_SAMPLES)."""

    samples: int = i16("samples")


@chunk(0x1440, parents=_EDITOR)
class ShadowRange(Chunk):
    """Shadow map range (SHADOW_RANGE)."""

    # Autodesk's toolkit has a long in its struct; files have two bytes.
    range: int = i16("range")


@chunk(0x1450, parents=_EDITOR)
class ShadowFilter(Chunk):
    """Shadow filter (SHADOW_FILTER); the specification calls it shadow map sample range."""

    filter: float = f32("1 to 10")


@chunk(0x1460, parents=_EDITOR)
class RayBias(Chunk):
    """Raytrace bias (RAY_BIAS)."""

    bias: float = f32("raytrace bias")


@chunk(0x1470, parents=_EDITOR)
class UseRaytrace(Chunk):
    """Use raytrace: present if ray traced shadows are on (RAY_SHADOWS)."""


@chunk(0x1500, parents=_EDITOR)
class ConstructionPlanes(Chunk):
    """Construction planes (O_CONSTS)."""

    planes: tuple[float, ...] = vector("construction planes")


@chunk(0x2100, parents=_EDITOR)
class AmbientColor(Chunk):
    """Ambient color (AMBIENT_LIGHT): a colour sub-chunk."""


@chunk(0x2200, parents=_EDITOR)
class Fog(Chunk):
    """Fog (FOG), with a colour sub-chunk."""

    near: float = f32("near distance")
    near_density: float = f32("near density")
    far: float = f32("far distance")
    far_density: float = f32("far density")


@chunk(0x2201, parents=_EDITOR)
class UseFog(Chunk):
    """Use fog: present if 2200 is used."""


@chunk(0x2210, parents=(0x2200, 0x3D3D))
class FogBackground(Chunk):
    """Fog background (FOG_BGND): present if the background is fogged too."""


@chunk(0x2300, parents=_EDITOR)
class DistanceCue(Chunk):
    """Distance cue (DISTANCE_CUE)."""

    near: float = f32("near distance")
    near_dimming: float = f32("near dimming")
    far: float = f32("far distance")
    far_dimming: float = f32("far dimming")


@chunk(0x2301, parents=_EDITOR)
class UseDistanceCue(Chunk):
    """Use distance cue: present if 2300 is used."""


@chunk(0x2302, parents=_EDITOR)
class LayerFog(Chunk):
    """Layered fog options (LAYER_FOG), with a colour sub-chunk."""

    z_min: float = f32("lower end")
    z_max: float = f32("upper end")
    density: float = f32("density")
    flags: int = u32("bit 0: bottom falloff, bit 1: top falloff, bit 20: fog background")


@chunk(0x2303, parents=_EDITOR)
class UseLayerFog(Chunk):
    """Use layered fog: present if 2302 is used."""


@chunk(0x2310, parents=(0x2300, 0x3D3D))
class DimBackground(Chunk):
    """Dim background (DCUE_BGND): present if the background is dimmed too."""


@chunk(0x3000, parents=(0x3D3D, 0xB000))
class DefaultView(Chunk):
    """Default view (DEFAULT_VIEW): one view sub-chunk."""


@record
class _OrthogonalView(Chunk):
    target: tuple[float, ...] = vector("target")
    width: float = f32("width of the view")


@chunk(0x3010, parents=(0x3000,))
class ViewTop(_OrthogonalView):
    """View from the top."""


@chunk(0x3020, parents=(0x3000,))
class ViewBottom(_OrthogonalView):
    """View from the bottom."""


@chunk(0x3030, parents=(0x3000,))
class ViewLeft(_OrthogonalView):
    """View from the left."""


@chunk(0x3040, parents=(0x3000,))
class ViewRight(_OrthogonalView):
    """View from the right."""


@chunk(0x3050, parents=(0x3000,))
class ViewFront(_OrthogonalView):
    """View from the front."""


@chunk(0x3060, parents=(0x3000,))
class ViewBack(_OrthogonalView):
    """View from the back."""


@chunk(0x3070, parents=(0x3000,))
class ViewUser(_OrthogonalView):
    """User view."""

    xy_angle: float = f32("angle in the XY plane")
    yz_angle: float = f32("angle in the YZ plane")
    bank: float = f32("bank")


@chunk(0x3080, parents=(0x3000,))
class ViewCamera(Chunk):
    """View through a camera."""

    name: bytes = strz("name of the camera")


ViewWindow = declare_opaque(0x3090, "ViewWindow", "View window (VIEW_WINDOW).", (0x3000,))


@record
class _ViewportLayout(Chunk):
    form: int = i16("arrangement of the windows, 0 to 11")
    active: int = i16("active window")
    ready: int = i16("ready")
    window_state: int = i16("state (wstate)")
    swap_state: int = i16("swapws")
    swap_port: int = i16("swapport")
    swap_current: int = i16("swapcur")


@chunk(0x7001, parents=(0x3D3D, 0xB000))
class ViewportLayout(_ViewportLayout):
    """Window settings (VIEWPORT_LAYOUT)."""


@chunk(0x7000, parents=(0x3D3D, 0xB000))
class OldViewportLayout(_ViewportLayout):
    """Window settings of older releases."""


_LAYOUTS = (0x7000, 0x7001)
_VIEWS = "0 none, 1 top, 2 bottom, 3 left, 4 right, 5 front, 6 back, 7 user, 18 spot light, 65535 camera"


@record
class _ViewportData(Chunk):
    flags: int = u16("flags")
    axis_lock: int = u16("axis lock")
    x: int = u16("left edge")
    y: int = u16("upper edge")
    width: int = u16("width")
    height: int = u16("height")
    view: int = u16(_VIEWS)
    zoom: float = f32("zoom")
    center: tuple[float, ...] = vector("center")
    horizontal_angle: float = f32("horizontal angle")
    vertical_angle: float = f32("vertical angle")
    camera: bytes = chars(11, "name of the camera")


@chunk(0x7011, parents=_LAYOUTS, repeats=True)
class ViewportData(_ViewportData):
    """Window description #2 (VIEWPORT_DATA), one for each window."""


@chunk(0x7012, parents=_LAYOUTS, repeats=True)
class ViewportData3(_ViewportData):
    """Window description #1 (VIEWPORT_DATA_3), one for each window."""


@chunk(0x7020, parents=_LAYOUTS)
class ViewportSize(Chunk):
    """Mesh windows (VIEWPORT_SIZE)."""

    x: int = u16("left edge")
    y: int = u16("upper edge")
    width: int = u16("width")
    height: int = u16("height")


OldViewportData = declare_opaque(
    0x7010, "OldViewportData", "Window description of older releases.", (0x3D3D, 0xB000, *_LAYOUTS)
)
NetworkView = declare_opaque(0x7030, "NetworkView", "Network view (NETWORK_VIEW).", (0x3D3D, 0xB000, *_LAYOUTS))
