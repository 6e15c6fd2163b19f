// The source of all data: the server of this page, the archive inside an exported page, or Python in a web worker.
import type { Engine } from "./engine";
import type { ClipInfo, FileList, Lamps, Losses, Opened, RecordOverview, RecordPage, SavedInfo, SceneDescription, SceneInfo, TrackData } from "./types";

export interface Source {
  get(path: string): Promise<ArrayBuffer | null>;
  /** Sends files to be opened; null if nothing can open them. */
  post: ((path: string, body: Blob) => Promise<ArrayBuffer>) | null;
  /** the worker, if Python runs in this page */
  engine?: Engine;
}

const TOKEN_HEADER = "X-Keyframer-Token";
const OPEN_HEADER = "X-Keyframer-Open";

/** Connects to the server. A token in the address is exchanged for a cookie and removed from the address. */
export async function liveSource(): Promise<Source> {
  const token = location.hash.slice(1);
  if (/^[0-9a-f]{32}$/.test(token)) {
    const answer = await fetch("/session", { headers: { [TOKEN_HEADER]: token } });
    if (!answer.ok) throw new Error("This address is from an earlier run: open the address that 'keyframer view' printed last.");
    await answer.arrayBuffer(); // an unread response would be cancelled when the page is closed
    history.replaceState(null, "", location.pathname);
  }
  return {
    async get(path) {
      const answer = await fetchTwice(path);
      if (answer.status === 404) return null;
      if (!answer.ok) throw new Error((await answer.text()).trim());
      return answer.arrayBuffer();
    },
    async post(path, body) {
      const answer = await fetch(path, { method: "POST", body, headers: { [OPEN_HEADER]: "yes" } }).catch(() => null);
      if (!answer) throw new Error(NO_ANSWER);
      if (!answer.ok) throw new Error((await answer.text()).trim());
      return answer.arrayBuffer();
    },
  };
}

const NO_ANSWER = "No response: is 'keyframer view' still running?";

/** Fetches a path, with one retry: on a busy machine a connection may be closed before the request is sent. */
export async function fetchTwice(path: string, pause = 300): Promise<Response> {
  try {
    return await fetch(path);
  } catch {
    await new Promise((done) => setTimeout(done, pause));
  }
  try {
    return await fetch(path);
  } catch {
    throw new Error(NO_ANSWER);
  }
}

/** Opens the archive of an exported page, which is compressed with gzip and encoded in base64. */
export async function packedSource(base64: string): Promise<Source> {
  const packed = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  return unpacked(await gunzipped(new Blob([packed])));
}

export const gunzipped = (packed: Blob): Promise<ArrayBuffer> =>
  new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();

/** Opens an archive: the length of its index, the index (paths and sizes as JSON), then the contents. */
export function unpacked(archive: ArrayBuffer): Source {
  const length = new DataView(archive).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(new Uint8Array(archive, 4, length))) as [string, number][];
  const ranges = new Map<string, [number, number]>();
  let at = 4 + length;
  for (const [path, size] of index) {
    ranges.set(path, [at, at + size]);
    at += size;
  }
  return {
    post: null,
    get: async (path) => {
      const range = ranges.get(path);
      return range ? archive.slice(...range) : null;
    },
  };
}

/** Typed requests to a source. Answers are cached (JSON after parsing), except models and pages. */
export class Data {
  private readonly answers = new Map<string, Promise<ArrayBuffer | null>>();
  private readonly parsed = new Map<string, Promise<unknown>>();

  constructor(private readonly source: Source) {}

  /** Whether files can be opened and saved: by a server, or by Python in this page. */
  get live(): boolean {
    return this.source.post !== null;
  }

  get engine(): Engine | undefined {
    return this.source.engine;
  }

  /** Opens files; returns the list of all files, and the numbers of those that were opened now, or that images joined. */
  open = (body: Blob): Promise<Opened> => this.post("/open", body);
  /** Opens a damaged file again, without its unsafe parts. */
  recover = (file: number): Promise<Opened> => this.post(`/recover/${file}`, new Blob());
  /** Saves a file in another format; returns the name and the losses. */
  report = (file: number, choice: number): Promise<SavedInfo> => this.json(`/data/${file}/report/${choice}`);
  /** The content of the saved file. */
  saved = (file: number, choice: number): Promise<ArrayBuffer> => this.bytes(`/data/${file}/save/${choice}`, false);

  files = (): Promise<FileList> => this.json("/data/files");
  /** The description of a file with one of its clips. */
  scene = async (file: number, clip = 0): Promise<SceneInfo> => {
    const scene = await this.json<SceneDescription>(`/data/${file}/scene`);
    const noClip: ClipInfo = { tracks: [], timing: null };
    return { ...scene, ...(scene.clips.length ? await this.json<ClipInfo>(`/data/${file}/clip/${clip}`) : noClip) };
  };
  losses = (file: number): Promise<Losses> => this.json(`/data/${file}/losses`);
  lamps = (file: number, clip: number): Promise<Lamps> => this.json(`/data/${file}/lamps/${clip}`);
  /** A track, by its number among the tracks of all clips. */
  track = (file: number, track: number): Promise<TrackData> => this.json(`/data/${file}/track/${track}`);
  records = (file: number): Promise<RecordOverview> => this.json(`/data/${file}/records`);
  recordPage = (file: number, page: number): Promise<RecordPage> => this.json(`/data/${file}/records/${page}`);
  /** Not cached: the model is large, and needed again only if the user returns to the file. */
  model = (file: number): Promise<ArrayBuffer> => this.bytes(`/data/${file}/model`, false);
  /** The file as one page that needs no server. */
  page = (file: number): Promise<ArrayBuffer> => this.bytes(`/data/${file}/page`, false);
  block = (file: number, block: number): Promise<ArrayBuffer> => this.bytes(`/data/${file}/bytes/${block}`);

  private async post(path: string, body: Blob): Promise<Opened> {
    if (!this.source.post) throw new Error("This page has no server to open files.");
    const answer = JSON.parse(new TextDecoder().decode(await this.source.post(path, body))) as Opened;
    for (const file of answer.joined) this.forget(file);
    return answer;
  }

  private forget(file: number): void {
    for (const answers of [this.answers, this.parsed]) {
      for (const path of [...answers.keys()]) if (path.startsWith(`/data/${file}/`)) answers.delete(path);
    }
  }

  private async bytes(path: string, cached = true): Promise<ArrayBuffer> {
    let answer = this.answers.get(path);
    if (!answer) {
      answer = this.source.get(path);
      if (cached) this.answers.set(path, answer);
      answer.catch(() => this.answers.delete(path));
    }
    const content = await answer;
    if (content === null) throw new Error(`${path} was not found`);
    return content;
  }

  private async json<T>(path: string): Promise<T> {
    let answer = this.parsed.get(path);
    if (!answer) {
      answer = this.bytes(path, false).then((content) => JSON.parse(new TextDecoder().decode(content)) as unknown);
      this.parsed.set(path, answer);
      answer.catch(() => this.parsed.delete(path));
    }
    return await answer as T;
  }
}
