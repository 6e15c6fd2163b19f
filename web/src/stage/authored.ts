// Materials as the old programs shade them, and as our pictures do: light and colours are added up and multiplied as the
// numbers that are stored, which are those of a screen. Lights have no strength but their numbers; see `Lighting`.
import {
  Color, DoubleSide, MeshBasicMaterial, MeshPhongMaterial, ShaderChunk, type Material, type MeshStandardMaterial,
} from "three";

interface Stated {
  diffuse?: number[];
  specular?: number[];
  shininess?: number;
  shininess_strength?: number;
  helper?: string;
}

/** Of faces without a material, and of materials that state no colour. */
const PLAIN = [0.7, 0.71, 0.74] as const;
/** Surfaces of no colour become so bright, so that their shape is seen. */
const BLACK = 0.12;

const FALL = `
float getDistanceAttenuation( const in float lightDistance, const in float cutoffDistance, const in float decayExponent ) {
  return cutoffDistance > 0.0 ? saturate( ( cutoffDistance - lightDistance ) / ( cutoffDistance - decayExponent ) ) : 1.0;
}`;
const GLOSS = `
vec3 BRDF_BlinnPhong( const in vec3 lightDir, const in vec3 viewDir, const in vec3 normal, const in vec3 specularColor, const in float shininess ) {
  float facing = dot( normal, lightDir );
  float gloss = pow( saturate( dot( normal, normalize( lightDir + viewDir ) ) ), shininess );
  return facing > 0.0 ? specularColor * gloss * RECIPROCAL_PI / facing : vec3( 0.0 );
}`;

/** The text of a shader without one of its functions, and with another in its place. */
export function replaceFunction(text: string, name: string, by: string): string {
  const start = new RegExp(`\\b\\w+ ${name}\\(`).exec(text)?.index ?? -1;
  if (start < 0) throw new Error(`the shader has no ${name}`);
  let depth = 0;
  for (let at = text.indexOf("{", start); at < text.length; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return text.slice(0, start) + by + text.slice(at + 1);
  }
  throw new Error(`the shader's ${name} has no end`);
}

/** The same surface, shaded as authored. */
export function authored(material: Material): Material {
  const from = material as MeshStandardMaterial;
  if (material instanceof MeshBasicMaterial || !("roughness" in material)) return material;
  const stated = ((material.userData as { keyframer?: Stated }).keyframer ?? {}) as Stated;
  const strength = limited(stated.shininess_strength ?? 0.4);
  const made = new MeshPhongMaterial({
    name: from.name, color: from.color.clone(), map: from.map, normalMap: from.normalMap, normalScale: from.normalScale,
    emissive: from.emissive, emissiveMap: from.emissiveMap, emissiveIntensity: from.emissiveIntensity, alphaTest: from.alphaTest,
    transparent: from.transparent, opacity: from.opacity, depthWrite: from.depthWrite, vertexColors: from.vertexColors,
    flatShading: from.flatShading, wireframe: from.wireframe, side: DoubleSide, toneMapped: false,
    shininess: 2 ** (1 + 9 * limited(stated.shininess ?? 0.25)),
    polygonOffset: from.polygonOffset, polygonOffsetFactor: from.polygonOffsetFactor, polygonOffsetUnits: from.polygonOffsetUnits,
  });
  const [red = 0, green = 0, blue = 0] = stated.specular ?? [];
  made.specular.setRGB(limited(red) * strength, limited(green) * strength, limited(blue) * strength);
  if (!from.map && (stated.helper === "default" || !stated.diffuse) && from.color.equals(UNSTATED)) made.color.copy(screenColor(PLAIN));
  if (!from.map) lift(made.color);
  made.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <lights_pars_begin>", replaceFunction(ShaderChunk.lights_pars_begin, "getDistanceAttenuation", FALL))
      .replace("#include <lights_phong_pars_fragment>", ShaderChunk.lights_phong_pars_fragment)
      .replace("#include <bsdfs>", replaceFunction(ShaderChunk.bsdfs, "BRDF_BlinnPhong", GLOSS))
      .replace("#include <alphamap_fragment>", "#include <alphamap_fragment>\n\tdiffuseColor.rgb = sRGBTransferOETF( diffuseColor ).rgb;")
      .replace("#include <emissivemap_fragment>", "#include <emissivemap_fragment>\n\ttotalEmissiveRadiance = sRGBTransferOETF( vec4( totalEmissiveRadiance, 1.0 ) ).rgb;")
      .replace("#include <opaque_fragment>", "outgoingLight = sRGBTransferEOTF( vec4( saturate( outgoingLight ), 1.0 ) ).rgb;\n\t#include <opaque_fragment>");
  };
  made.customProgramCacheKey = () => "authored";
  return made;
}

const limited = (value: number): number => Math.min(Math.max(value, 0), 1);
const screenColor = ([red, green, blue]: readonly [number, number, number]): Color => new Color().setRGB(red, green, blue, "srgb");
const UNSTATED = new Color(1, 1, 1);

function lift(color: Color): void {
  const shown = color.clone().convertLinearToSRGB();
  if (Math.max(shown.r, shown.g, shown.b) >= BLACK) return;
  color.copy(screenColor([Math.max(shown.r, BLACK), Math.max(shown.g, BLACK), Math.max(shown.b, BLACK)]));
}
