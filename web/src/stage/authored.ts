// Materials that are shaded as in the old programs and in our thumbnails: light and colours are added and multiplied as
// stored, in screen colours (sRGB), without conversion to linear light. `Lighting` sets the lights for them.
import {
  Color, MeshBasicMaterial, MeshPhongMaterial, ShaderChunk, type Material, type MeshStandardMaterial,
} from "three";

interface StoredMaterial {
  specular?: number[];
  shininess?: number;
  shininess_strength?: number;
  helper?: string;
}

/** Colour of faces without a material. */
const NEUTRAL = [0.7, 0.71, 0.74] as const;
/** Minimum brightness of surfaces without an image: the shape of a black one would be invisible. */
const MIN_BRIGHTNESS = 0.12;

const DISTANCE_ATTENUATION = `
float getDistanceAttenuation( const in float lightDistance, const in float cutoffDistance, const in float decayExponent ) {
  return cutoffDistance > 0.0 ? saturate( ( cutoffDistance - lightDistance ) / ( cutoffDistance - decayExponent ) ) : 1.0;
}`;
const SPECULAR = `
vec3 BRDF_BlinnPhong( const in vec3 lightDir, const in vec3 viewDir, const in vec3 normal, const in vec3 specularColor, const in float shininess ) {
  float facing = dot( normal, lightDir );
  float gloss = pow( saturate( dot( normal, normalize( lightDir + viewDir ) ) ), shininess );
  return facing > 0.0 ? specularColor * gloss * RECIPROCAL_PI / facing : vec3( 0.0 );
}`;

/** Replaces a function in the text of a shader. */
export function replaceFunction(text: string, name: string, replacement: string): string {
  const start = new RegExp(`\\b\\w+ ${name}\\(`).exec(text)?.index ?? -1;
  if (start < 0) throw new Error(`the shader has no ${name}`);
  let depth = 0;
  for (let at = text.indexOf("{", start); at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return text.slice(0, start) + replacement + text.slice(at + 1);
  }
  throw new Error(`the shader's ${name} has no end`);
}

/** Makes the material of faces without a material grey. */
export function greyIfDefault(material: Material): void {
  const { keyframer } = material.userData as { keyframer?: StoredMaterial };
  if (keyframer?.helper === "default") (material as MeshStandardMaterial).color.copy(screenColor(NEUTRAL));
}

/** A copy of a material that is shaded as in the old programs; a material without shading is returned unchanged. */
export function authored(material: Material): Material {
  const from = material as MeshStandardMaterial;
  if (material instanceof MeshBasicMaterial || !("roughness" in material)) return material;
  const stored = ((material.userData as { keyframer?: StoredMaterial }).keyframer ?? {}) as StoredMaterial;
  const strength = clamped(stored.shininess_strength ?? 0.4);
  const phong = new MeshPhongMaterial({
    name: from.name, color: from.color.clone(), map: from.map, normalMap: from.normalMap, normalScale: from.normalScale,
    emissive: from.emissive, emissiveMap: from.emissiveMap, emissiveIntensity: from.emissiveIntensity, alphaTest: from.alphaTest,
    transparent: from.transparent, opacity: from.opacity, depthWrite: from.depthWrite, vertexColors: from.vertexColors,
    flatShading: from.flatShading, wireframe: from.wireframe, side: from.side, toneMapped: false,
    shininess: 2 ** (1 + 9 * shininess(from.roughness, stored)),
    polygonOffset: from.polygonOffset, polygonOffsetFactor: from.polygonOffsetFactor, polygonOffsetUnits: from.polygonOffsetUnits,
  });
  const [red = 0, green = 0, blue = 0] = stored.specular ?? [];
  phong.specular.setRGB(clamped(red) * strength, clamped(green) * strength, clamped(blue) * strength);
  if (!from.map && from.emissive.equals(BLACK)) brighten(phong.color); // a surface that glows fully reflects nothing
  phong.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <lights_pars_begin>", replaceFunction(ShaderChunk.lights_pars_begin, "getDistanceAttenuation", DISTANCE_ATTENUATION))
      .replace("#include <lights_phong_pars_fragment>", ShaderChunk.lights_phong_pars_fragment)
      .replace("#include <bsdfs>", replaceFunction(ShaderChunk.bsdfs, "BRDF_BlinnPhong", SPECULAR))
      .replace("#include <alphamap_fragment>", "#include <alphamap_fragment>\n\tdiffuseColor.rgb = sRGBTransferOETF( diffuseColor ).rgb;")
      .replace("#include <emissivemap_fragment>", "#include <emissivemap_fragment>\n\ttotalEmissiveRadiance = sRGBTransferOETF( vec4( totalEmissiveRadiance, 1.0 ) ).rgb;")
      .replace("#include <opaque_fragment>", "outgoingLight = sRGBTransferEOTF( vec4( saturate( outgoingLight ), 1.0 ) ).rgb;\n\t#include <opaque_fragment>");
  };
  phong.customProgramCacheKey = () => "authored";
  return phong;
}

/** The inverse of the roughness in our files: see `roughness` in exchange/gltf/write/materials.py. */
export function shininess(roughness: number, stored: StoredMaterial): number {
  if (stored.shininess !== undefined) return clamped(stored.shininess); // it has no highlight
  const width = Math.max(1 - (1 - roughness) / clamped(stored.shininess_strength ?? 1), 1e-3);
  return clamped(Math.log2(Math.max(2 / width ** 2 - 2, 1)) / 10);
}

const clamped = (value: number): number => Math.min(Math.max(value, 0), 1);
const screenColor = ([red, green, blue]: readonly [number, number, number]): Color => new Color().setRGB(red, green, blue, "srgb");
const BLACK = new Color(0, 0, 0);

function brighten(color: Color): void {
  const shown = color.clone().convertLinearToSRGB();
  if (Math.max(shown.r, shown.g, shown.b) >= MIN_BRIGHTNESS) return;
  color.copy(screenColor([Math.max(shown.r, MIN_BRIGHTNESS), Math.max(shown.g, MIN_BRIGHTNESS), Math.max(shown.b, MIN_BRIGHTNESS)]));
}
